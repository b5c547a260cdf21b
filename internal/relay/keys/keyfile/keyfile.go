// Package keyfile reads and writes the files that hold the daemon's secret
// keys: readable by their owner and group at most, durable, complete or absent,
// and never overwritten by accident. Callers interpret the content.
package keyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"engramd/internal/platform/files"
)

var (
	// ErrExposed means that others than the file's owner and group may read it.
	ErrExposed = errors.New("the key file can be read by every user: chmod 600 it")
	// ErrShape means that a path does not lead to a regular file of the size of
	// a key file.
	ErrShape = errors.New("not a key file")
)

// maxSize is the size in bytes of the largest key file that is read.
const maxSize = 32 << 10

// Read returns the text of a key file; clear it after use. The error is
// ErrExposed, ErrShape or what the file system said.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSize:
		return nil, ErrShape
	case info.Mode().Perm()&0o007 != 0:
		return nil, ErrExposed
	}
	return io.ReadAll(io.LimitReader(f, maxSize))
}

// Lines calls fn for each line of a key file's text that is neither empty nor a
// comment, without the white space around it. The first error of fn ends it.
func Lines(text []byte, fn func(line []byte) error) error {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		if err := fn(line); err != nil {
			return err
		}
	}
	return nil
}

// Create makes a key file of mode 0600. It is durable when Create returns, and
// never overwrites a file: then the error is fs.ErrExist.
func Create(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write a key file: %w", err)
	}
	err = files.WritePrivate(f, text)
	if err == nil {
		err = os.Link(f.Name(), path) // which fails where a rename would overwrite
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(path))
}

// next is the suffix of a file that is to take another one's place.
const next = ".next"

// Next returns the path at which Stage puts what is to take the place of the
// file at path.
func Next(path string) string { return path + next }

// Stage writes the replacement of the file at path, beside it and durably. It
// replaces one that was staged before.
func Stage(path string, text []byte) error {
	return files.Replace(Next(path), text)
}

// Switch puts the staged file in the place of the file at path.
func Switch(path string) error {
	if err := os.Rename(Next(path), path); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(path))
}

// Unstage removes the staged file of path, if there is one.
func Unstage(path string) error {
	if err := os.Remove(Next(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Remove removes a file for good: it does not come back with a loss of power. The
// error is fs.ErrNotExist if there is none.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(path))
}
