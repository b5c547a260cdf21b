// Package files is what engramctl needs of a file system where systems differ:
// locks, durable names, and files that are their user's alone.
package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// ErrLocked means that another process holds a lock.
var ErrLocked = errors.New("locked by another process")

// Lock takes the lock on an open file, and looks again every so often while another
// process holds it, until ctx ends.
func Lock(ctx context.Context, f *os.File, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := TryLock(f); !errors.Is(err, ErrLocked) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// WritePrivate writes a text into a file that only its user can read: a new
// one, or an old one as a whole.
func WritePrivate(f *os.File, text []byte) error {
	err := MakePrivate(f)
	if err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// Replace has a file that only its user can read take the place of what is at a path,
// durably and as a whole.
func Replace(path string, text []byte) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		err = WritePrivate(f, text)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}
