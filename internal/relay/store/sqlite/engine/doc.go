// Package engine is one SQLite database with one writer and several readers. It
// knows connections, the queue and its fair turns, batches, transactions, what
// undoes one member of them, jobs that take several, reads that give way, the
// write-ahead log, migrations, the lock and backups. It knows no event, no kind
// and no table but meta, its own: what members mean says an Applier.
//
// DB.Push and DB.Do give the writer work; DB.Read, Snapshot, InTime and Whole
// lend a connection that cannot write. Nothing else reaches the database.
//
// DESIGN.md says why it is so, and what must stay so.
package engine
