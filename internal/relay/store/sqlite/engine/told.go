package engine

import "engramd/internal/relay/store"

// Reads says how busy the readers are.
func (db *DB) Reads() store.Reads {
	t := db.readers.turns
	return store.Reads{Waiting: t.Waiting() + db.readers.whole.Waiting(), UnderWay: t.UnderWay(), Yields: t.Yields(), Ended: t.Ended()}
}

// Recent returns how fast commits were, and the slowest top reads.
func (db *DB) Recent(top int) store.Recent { return db.recent.told(top) }

// ReadDone notes one call of a read method.
func (db *DB) ReadDone(read store.SlowRead) { db.recent.read(read) }
