package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"engramd/internal/relay/store"
)

// ordinary is the room in bytes that a member of ordinary size takes: 64 KiB of
// text, its entries in the indexes, and its words in the full-text index.
const ordinary = 192 << 10

const (
	sqlProbe    = `INSERT INTO meta(key, value) VALUES ('ready.probe', 1) ON CONFLICT(key) DO UPDATE SET value = value + 1`
	sqlFill     = `INSERT INTO meta(key, value) VALUES ('ready.room', zeroblob(?1)) ON CONFLICT(key) DO UPDATE SET value = zeroblob(?1)`
	sqlFillGone = `DELETE FROM meta WHERE key = 'ready.room'`
)

// Ready proves that the database takes events of ordinary size: by a small
// write that goes through the same commit as events do, and by looking how much
// room is left. Once an event could not be stored, and none has been since, it
// does again what failed, and takes it back, and writes as much as an event of
// ordinary size: a quota of the file system, or a page that cannot be read, shows
// in nothing else. The error wraps ErrFull where room is what is missing.
func (db *DB) Ready(ctx context.Context) error {
	filled := false
	err := db.Apart(ctx, func(w *Writer) error {
		if err := w.roomLeft(); err != nil {
			return err
		}
		if w.broken != nil {
			if err := w.again(); err != nil {
				return err
			}
			w.After(func() { w.broken, w.tried, filled = nil, nil, true })
		}
		_, err := w.Exec(sqlProbe)
		return err
	})
	if err != nil || !filled {
		return err
	}
	return db.Apart(ctx, func(w *Writer) error {
		_, err := w.Exec(sqlFillGone)
		return err
	})
}

// again does what could not be done, without what the cache still has of the
// file, and takes it back.
func (w *Writer) again() error {
	if _, err := w.c.Number("PRAGMA shrink_memory"); err != nil {
		return err
	}
	if m := w.tried; m != nil {
		was := w.mark()
		var r store.Result
		err := w.InSavepoint(func() error {
			r = w.protected(func() (store.Result, error) { return w.applier.Apply(m) })
			return errUndo
		})
		if w.undo(was); r.Outcome == store.Failed {
			return r.Err
		}
		if !errors.Is(err, errUndo) || w.Lost() {
			return fmt.Errorf("%w: %w", errLost, err)
		}
	}
	_, err := w.c.Exec(sqlFill, int64(ordinary))
	return err
}

// roomLeft fails with ErrFull if an event of ordinary size has no room within
// the limit of the database's size, or on its file system.
func (w *Writer) roomLeft() error {
	var n [4]int64
	for i, pragma := range []string{"page_size", "max_page_count", "page_count", "freelist_count"} {
		var err error
		if n[i], err = w.c.Number("PRAGMA " + pragma); err != nil {
			return err
		}
	}
	if size, left := n[0], n[1]-n[2]+n[3]; left*size < ordinary {
		return fmt.Errorf("%w: %d KB are left within the limit of its size", store.ErrFull, max(0, left*size)>>10)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(w.db.path), &fs); err != nil {
		return fmt.Errorf("free space: %w", err)
	}
	if free := int64(fs.Bavail) * fs.Bsize; free < ordinary {
		return fmt.Errorf("%w: %d KB are free on its file system", store.ErrFull, free>>10)
	}
	return nil
}
