// Package recall finds what a memory holds on a question: by words, neighbours,
// people, dates and links, and by meaning where somebody brings vectors. It is
// pure over the documents that it is given: no I/O, and the clock is the
// query's.
//
// An [Index] holds sections of memories ([Document]) as postings, without their
// texts. It changes in place ([Index.Put], [Index.Remove]), and is written to and
// read from one blob ([Index.Encode], [Decode]). [Index.Rank] scores all sections
// by the recipe of [Weights]; [Index.Recall] also takes the filters, quoted
// phrases, how well it fits, near duplicates and the
// budget into account.
//
// Any number of goroutines may read an index at once; who changes it must be
// alone.
package recall
