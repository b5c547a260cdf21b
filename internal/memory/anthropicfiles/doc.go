// Package anthropicfiles shows memories as the files of the memory tool that Anthropic's
// models know (memory_20250818): which path is which slug, and the texts that its
// commands answer with, word for word those of anthropic-sdk-python 0.121.0. It is
// pure.
//
// /memories/a/b.md is mem/a/b, and /memories/core.md the core. Any other name has a
// slug that is made of it by lower-casing and "-", and keeps its true path in front
// matter, where it counts only if it leads to that slug: so each memory has exactly
// one path, each path at most one memory, and what somebody else writes there cannot
// stand in for another file.
package anthropicfiles
