// Package transcript writes a contract's memory down for people who were not
// there: an arbitrator, an auditor, a court. Events writes what was signed, one
// event a line, which `engramd import` and every Nostr program take; Markdown
// writes who said what, and what is known of each entry: whether its signature
// holds, when it was created by its author's word, when a relay took it.
//
// Every text is hostile until proved otherwise: in the transcript every line of
// it is indented, so that it stays code in Markdown and can never look like a
// line of ours, and it holds no control or direction characters.
package transcript
