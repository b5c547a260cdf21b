// Package ledger is what the writer keeps count of beside the events: the numbers
// of keys and what each author keeps, with what a transaction has changed of both.
package ledger
