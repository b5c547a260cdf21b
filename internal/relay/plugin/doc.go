// Package plugin lets an operator's own program decide which events are
// written: a write policy plugin as strfry has them, so that existing ones run
// unchanged (docs/write-policy.md has the protocol).
//
// One process runs for as long as the daemon does. It is asked with a line of
// JSON for each event and answers with a line. Several questions may be under
// way at once, from different connections; whose turn it is says package share,
// so that one client's flood does not keep the program from another's event.
//
// A fault of the program costs its writers an "error:" and the program its
// life, and nobody else anything: it is asked outside of the store's writer,
// its output is bounded in line and time, and what it prints besides answers is
// counted or logged under a rate.
package plugin
