// Package frontmatter reads and writes what a memory says of itself: the front matter
// at the top of its text. It is pure: no I/O, no clock, no state.
//
// A text is a unit whatever it holds. Front matter begins only if the first
// line is "---", the second is "key:", and a closing "---" follows within 4 KiB;
// any other text is all body, and has the defaults ([Fields]).
//
//	---
//	description: Why Atlas uses SQLite
//	tags: [atlas, storage]
//	---
//	Atlas keeps … [[mem/people/ana]]
//
// [Parse] never fails. What front matter holds is a strict subset of YAML: keys
// at the beginning of a line, scalars, flat lists and flat mappings. A value
// that the subset does not take is the rest of its line, and lines that are
// none of ours are kept. An edit ([Doc.Edit], [Doc.WithBody]) splices lines: keys
// that nobody named, their order and every byte of them stay.
//
// The four fields that say where a text comes from are not the writer's to
// choose. [Claims] names those that a text takes for itself, [Stamped] sets them,
// and trust is lowered by any writer and raised by none ([Trust]).
package frontmatter
