package engine

import (
	"context"
	"os"

	"engramd/internal/relay/store"
)

// Space looks at the file, on a connection of its own: it answers also when all
// readers are busy.
func (db *DB) Space(ctx context.Context) (out store.Space, err error) {
	_, out.WAL = db.Sizes()
	err = db.Whole(ctx, func(_ context.Context, c *Conn) error {
		size, err := c.Number("PRAGMA page_size")
		if err != nil {
			return err
		}
		pages, err := c.Number("PRAGMA page_count")
		if err != nil {
			return err
		}
		free, err := c.Number("PRAGMA freelist_count")
		out.Database, out.Free = pages*size, free*size
		return err
	})
	return out, err
}

// Sizes reports the size in bytes of the database file and of its write-ahead
// log.
func (db *DB) Sizes() (database, wal int64) {
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return size(db.path), size(db.path + "-wal")
}

// Reads says how busy the readers are.
func (db *DB) Reads() store.Reads {
	t := db.readers.turns
	return store.Reads{Waiting: t.Waiting() + db.readers.whole.Waiting(), UnderWay: t.UnderWay(), Yields: t.Yields(), Ended: t.Ended()}
}

// Recent returns how fast commits were, and the slowest top reads.
func (db *DB) Recent(top int) store.Recent { return db.recent.told(top) }

// ReadDone notes one call of a read method.
func (db *DB) ReadDone(read store.SlowRead) { db.recent.read(read) }
