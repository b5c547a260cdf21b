// Package store says what a store of events is: the values that go in and come
// out, the outcomes, the errors. It has no SQL; sqlite, below it, is the one
// implementation, and who uses a store declares what he needs of it as an
// interface of his own.
//
// What every store promises:
//
//   - An event has one Outcome. One that is OK means durable: what was answered
//     is there after a crash.
//   - Events are applied one after the other, in the order of their sequence
//     numbers, which only grow. When an event is durable, LastSeq has moved,
//     then OnCommit is told, then its Pending answers.
//   - A head is the greatest (created_at, lowest id) of its address that was
//     not deleted. What was deleted, or whose author vanished, does not return.
//   - A read has a scope (gate.Scope), and shows nothing that its scope does
//     not, neither in rows nor in counts. The zero scope shows what is
//     everybody's.
//   - A failure is never an empty answer: it is one of the errors here, or the
//     database's. Pages that follow one another give every event once.
//   - No row, report or error names what its reader may not see. Reports for
//     the operator bear numbers, not texts.
package store
