package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"engramd/internal/relay/store"
	"engramd/migrations"
)

// A database of an older version is read on a copy that is brought up to date,
// so that nothing of it changes and what an upgrade would do to it is seen
// beforehand. The copy lies in a folder of its own, which goes with the store;
// what a killed process left is removed by the next one.

// scratchName is what the folders of copies are called; the star is random.
const scratchName = "older-*"

// scratchRoom is how much room a copy needs, in sizes of the database: itself,
// and what the migrations write (2.1 measured, docs/operating.md).
const scratchRoom = 2.5

// scratch is the folder of a copy. Whoever uses it holds its lock.
type scratch struct {
	dir  string
	lock *DirLock
}

// Older reports the version that a database of an older version has, which was
// opened with Options.Scratch or Options.AsIs.
func (db *DB) Older() (version int64, older bool) { return db.older, db.older > 0 }

// Latest is the version that this program brings databases to.
func Latest() (int64, error) {
	all, err := migrations.All()
	return int64(len(all)), err
}

// SweepScratch removes copies of older databases that ended processes have left
// in a folder.
func SweepScratch(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, scratchName))
	if err != nil {
		return err
	}
	for _, path := range left {
		lock, err := Lock(path)
		if errors.Is(err, ErrLocked) {
			continue
		}
		if err == nil {
			err = errors.Join(os.RemoveAll(path), lock.f.Close())
		}
		if err != nil {
			return fmt.Errorf("remove the copy of an older database: %w", err)
		}
	}
	return nil
}

// rehearse copies the database into a new folder in o.Scratch and does to the
// copy what a start would, except for what time brings. Afterwards the store is
// One of the copy.
func rehearse(ctx context.Context, db *DB) (err error) {
	o := db.o
	if err := SweepScratch(o.Scratch); err != nil {
		return err
	}
	if err := roomFor(db, o.Scratch); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.Scratch, scratchName)
	if err != nil {
		return fmt.Errorf("a database of an older version is read on a copy; name a folder for it in %s: %w", tempEnv, err)
	}
	db.scratch = &scratch{dir: dir}
	if db.scratch.lock, err = Lock(dir); err != nil {
		return err
	}
	path := File(dir)
	if err := db.copyTo(ctx, path); err != nil {
		return fmt.Errorf("copy a database of an older version: %w", err)
	}
	db.path = path
	// The copy need not survive a crash.
	c, err := connect(path, writerDSN(), append(writerPragmas(o.CacheBytes), "synchronous=OFF", "secure_delete=OFF"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := migrate(ctx, c, path, o.Log); err != nil {
		return fmt.Errorf("bring a copy up to date: %w", err)
	}
	if _, err := newWriter(ctx, db, c); err != nil {
		return fmt.Errorf("bring a copy up to date: %w", err)
	}
	return c.Script("PRAGMA wal_checkpoint(TRUNCATE)")
}

// roomFor fails if a copy of the database would not fit into a folder.
func roomFor(db *DB, dir string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("a database of an older version is read on a copy: %s: %w", dir, err)
	}
	database, wal := db.Sizes()
	need, free := int64(scratchRoom*float64(database+wal)), int64(fs.Bavail)*fs.Bsize
	if free < need {
		return fmt.Errorf("%w: a database of an older version is read on a copy, which needs %d MB in %s, where %d are free; name another folder in %s, or start engramd serve to bring the database itself up to date",
			store.ErrFull, need>>20+1, dir, free>>20, tempEnv)
	}
	return nil
}

// remove removes the copy.
func (c *scratch) remove() error {
	if c == nil {
		return nil
	}
	err := os.RemoveAll(c.dir)
	if c.lock != nil {
		err = errors.Join(err, c.lock.f.Close())
	}
	return err
}
