// Package replica has this relay follow others: it pulls what a key may read
// there, first what it missed and then what arrives, and stores it as the
// followed relay has it.
//
// A pass takes, in this order, requests to delete and to vanish, so that what
// they concern is not shown in between; superseded contract memory, oldest
// first, so that threads have their order; what is stored there and not here
// (by NIP-77, or page by page where that is not offered); everybody's superseded
// versions; and at last what became head meanwhile. A live question is open all
// the while. What
// comes may come in any order and more than once: the store puts it in its
// place (store.PutOptions, Replica).
//
// Versions are those that arrived at the source, or were superseded there, after
// the place at which it stood when the pass before began (store.Place). What had
// arrived by then was taken as a head, or is in the history that was read after
// the heads. What was superseded by something that is gone meanwhile is no head
// here either.
//
// A pass that breaks off leaves notes of how far its pages and versions came, from
// which the next goes on (notes.go); what was superseded of contracts is read anew.
// What is too much for one reconciliation is parted by time.
//
// Nothing that comes is believed before its id and signature are checked and it
// fits the filter. What a source does not send is not known here: it can keep
// things back. What it calls superseded is no head here only if the author's
// signature says so, too. What it names and does not deliver leaves the pass
// incomplete, and the place where it was.
package replica
