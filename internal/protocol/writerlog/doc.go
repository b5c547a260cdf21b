// Package writerlog is the log of a writer: what proves that nothing of an agent's
// memory was left out or rolled back.
//
// A writer is one installation of an agent for one pair. Each engram that it
// writes has a number, the id of the event before it and the head of a Merkle
// tree over all ids before it (RFC 6962, by golang.org/x/mod/sumdb/tlog) in the
// member "chain" of its body. This package has the forms and the arithmetic, and
// does no I/O: the numbers are taken in the agent's state, and the relays are
// asked elsewhere.
package writerlog
