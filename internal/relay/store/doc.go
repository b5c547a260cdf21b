// Package store says what a store of events is: the values that go in and come
// out, the outcomes, the errors. It has no SQL; sqlite, below it, is the one
// implementation, and each package that uses a store declares what it needs as
// an interface of its own.
//
// What every store promises:
//
//   - An event has one Outcome. An outcome that is OK means durable: the event
//     is still there after a crash.
//   - Events are applied one after the other, in the order of their sequence
//     numbers, which only grow. When an event has become durable, LastSeq moves
//     first, then OnCommit is called, then its Pending answers.
//   - A head is the newest version of its address: the greatest created_at, of
//     these the lowest id. An address whose head went, or was superseded
//     elsewhere, has none until something newer is written. What was deleted, or
//     whose author vanished, does not return.
//   - A read has a scope (gate.Scope), and shows nothing beyond it, neither in
//     rows nor in counts. The zero scope shows what everybody may read.
//   - A failure is never an empty answer: it is one of the errors here, or the
//     database's. Successive pages return every event once.
//   - No row, report or error names what its reader may not see. Reports for
//     the operator contain numbers, not texts.
package store
