// Package events is what an event does to the database, and how a filter finds
// it again: heads and history, deletion, vanishing, quotas, the numbers of keys,
// retention; plans, pages, counts and search; capture and restore. It stands on
// the engine, which knows when a write is durable and whose turn it is to read.
//
// Every read takes a gate.Scope. DESIGN.md says how it works and what must stay
// so.
package events
