// Package files is what engramctl needs of a file system where systems differ:
// locks, durable names, and files that are their user's alone.
package files

import (
	"context"
	"errors"
	"os"
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
