// Package write is what happens between a text that somebody wants
// remembered and the memory that is stored: fields and front matter, the stamps
// that say where a text comes from, trust that no way of writing raises, and the
// steps of what changes several memories (renaming, superseding, mending links).
// Both ends that write for an agent use it: the MCP server and engramctl.
//
// There are two ways to write. A Writer takes a body or a text with fields and
// stamps it: created, source and session are its own, trust is kept or lowered.
// A text that must arrive byte for byte is not touched, and [Claims] refuses one
// that says more of itself than the text that is there. What is restored is
// exempt from both: it is written as it was.
//
// A Writer composes the new text from the one that it replaces. If that turns
// out to be another one in the moment of writing, it composes again, so that
// trust and fields are always those of what is really replaced.
//
// Of several steps the ones that add come before the ones that take away, and
// what was not reached is said: nothing is lost in between.
package write
