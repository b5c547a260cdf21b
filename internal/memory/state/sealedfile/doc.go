// Package sealedfile keeps rows on a disk that nobody else can read: a SQLite
// database, each page encrypted by Adiantum under a key of its own, shared by
// any number of processes of one user.
//
// The key is one that the caller derives (Key). All files are their user's alone
// (0700, 0600). The write-ahead log stays small. A page carries a checksum, which
// a changed byte on the disk cannot keep, since it scrambles the whole page: what
// is read is what was written, or ErrDamaged. That is no MAC: who can write to
// the disk can put back an older state of single pages. Whoever reads the disk
// learns sizes and which pages change when.
//
// A file that cannot be used (damaged, of another key, kind or place) is set
// aside, which renames it, and a new one begins in its place.
package sealedfile

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// What opening and using a file fails with.
var (
	// ErrDamaged is a file that cannot be read: of another key, or changed or
	// cut off outside of this package.
	ErrDamaged = errors.New("damaged, or of another key")
	// ErrForeign is a file that is whole and belongs to something else. An
	// Options.Check returns it.
	ErrForeign = errors.New("of something else")
	// ErrNewer is a file that a later version of this program has changed.
	ErrNewer = errors.New("of a later version")
	// ErrMoved says that the file is no longer where it was opened: somebody set
	// it aside or removed it. Nothing is written then. See File.Mended.
	ErrMoved = errors.New("moved away")
	// ErrClosed is a use after Close.
	ErrClosed = errors.New("closed")
)

// Key derives the key of one kind of file, named by its label, from the
// conversation key of a pair.
func Key(conversation [32]byte, label string) ([32]byte, error) {
	var key [32]byte
	out, err := hkdf.Key(sha256.New, conversation[:], nil, label, len(key))
	if err != nil {
		return key, fmt.Errorf("derive the key of a file: %w", err)
	}
	copy(key[:], out)
	return key, nil
}
