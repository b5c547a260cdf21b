// Package files is what engramctl needs of a file system where systems differ:
// locks, durable names, and files that are their user's alone.
package files

import (
	"errors"
	"os"
)

// ErrLocked means that another process holds a lock.
var ErrLocked = errors.New("locked by another process")

// WritePrivate writes a text into a file that only its user can read: a new
// one, or an old one as a whole.
func WritePrivate(f *os.File, text []byte) error {
	err := MakePrivate(f)
	if err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Sync(), f.Close())
}
