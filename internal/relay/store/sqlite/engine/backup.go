package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// backupPages is how many pages are copied between two looks at the context.
const backupPages = 1024

// Backup writes a consistent copy of the database to path while the store
// works: one file, mode 0600, opened again and checked before it gets its name,
// and durable when Backup returns. What is committed after it began is not in
// it. An existing file is never overwritten: ErrExists.
//
// It holds one read transaction throughout, so that the write-ahead log grows
// meanwhile by what is written.
func (db *DB) Backup(ctx context.Context, path string) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%w: %s", ErrExists, path)
	}
	partial := path + ".partial"
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%w: %s, of a backup that runs or was cut short", ErrExists, partial)
		}
		return fmt.Errorf("backup: %w", err)
	}
	f.Close()
	defer func() {
		for _, name := range []string{partial, partial + "-wal", partial + "-shm", partial + "-journal"} {
			if e := os.Remove(name); e != nil && !errors.Is(e, os.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}()
	if err := db.copyTo(ctx, partial); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := verifyCopy(ctx, partial); err != nil {
		return fmt.Errorf("backup: verify: %w", err)
	}
	if err := syncPath(partial); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	// A hard link fails where a rename would overwrite.
	if err := os.Link(partial, path); err != nil {
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%w: %s", ErrExists, path)
		}
		return fmt.Errorf("backup: %w", err)
	}
	return syncPath(filepath.Dir(path))
}

// copyTo copies the pages of one snapshot with SQLite's backup interface. The
// Read transaction keeps commits in between from starting the copy over.
func (db *DB) copyTo(ctx context.Context, path string) error {
	dst, err := connect(path, url.Values{}, nil)
	if err != nil {
		return err
	}
	err = db.Whole(ctx, func(ctx context.Context, c *Conn) error {
		if _, err := c.Number("SELECT count(*) FROM sqlite_schema"); err != nil {
			return err
		}
		b, err := dst.db.Backup("main", c.db, "main")
		if err != nil {
			return err
		}
		for done := false; !done && err == nil; {
			if err = ctx.Err(); err == nil {
				done, err = b.Step(backupPages)
			}
		}
		return errors.Join(err, b.Finish())
	})
	if err == nil {
		// One file, without a log beside it. The store turns the log on again
		// when it opens the copy.
		err = dst.Script("PRAGMA journal_mode=DELETE")
	}
	return errors.Join(err, dst.Close())
}

// verifyCopy opens the copy and has SQLite check it.
func verifyCopy(ctx context.Context, path string) error {
	dsn, pragmas := readerPragmas(operatorCache, 0)
	c, err := connect(path, dsn, pragmas)
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := c.Integrity(ctx)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("the copy is damaged: %s", found[0])
	}
	return nil
}

// Integrity runs SQLite's own check and returns what it found.
func (c *Conn) Integrity(ctx context.Context) ([]string, error) {
	var out []string
	err := c.Query(ctx, "PRAGMA integrity_check", nil, func(v Row) error {
		if s, _ := v[0].(string); s != "ok" {
			out = append(out, s)
		}
		return nil
	})
	return out, err
}
