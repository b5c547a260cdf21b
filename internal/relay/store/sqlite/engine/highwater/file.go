package highwater

import (
	"errors"
	"fmt"
	"io"
	"os"

	"engramd/internal/platform/files"
)

// ErrUnreadable means that there is a mark file, and no mark in it.
var ErrUnreadable = errors.New("the mark file cannot be read")

// Read returns the newest mark in a file. The error wraps ErrUnreadable, or
// os.ErrNotExist where there is no file.
func Read(path string) (Mark, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return Mark{}, err
	}
	if err != nil {
		return Mark{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer f.Close()
	m, _, err := newest(f)
	return m, err
}

// newest is the newest mark in a file, and the slot that it lies in.
func newest(f *os.File) (m Mark, slot int64, err error) {
	b := make([]byte, 2*slotSize)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return m, 0, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	slot = -1
	for i := range int64(2) {
		from, to := i*slotSize, (i+1)*slotSize
		if to > int64(n) {
			break
		}
		if one, ok := parse(b[from:to]); ok && (slot < 0 || one.Turn > m.Turn) {
			m, slot = one, i
		}
	}
	if slot < 0 {
		return m, 0, fmt.Errorf("%w: %s holds no whole mark", ErrUnreadable, f.Name())
	}
	return m, slot, nil
}

// File is a mark file that is written.
type File struct {
	f    *os.File
	last Mark
	slot int64 // where last lies
}

// Open opens a file that holds a mark.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	m, slot, err := newest(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{f, m, slot}, nil
}

// Make makes a file that holds a mark, in place of any other one, durably.
func Make(path string, m Mark) (*File, error) {
	m.Turn = 1
	if err := files.Replace(path, append(m.slot(), make([]byte, slotSize)...)); err != nil {
		return nil, err
	}
	return Open(path)
}

// Last is the mark that was written last.
func (f *File) Last() Mark { return f.last }

// Write writes a mark over the older one, durably: the other stays until then.
func (f *File) Write(m Mark) error {
	m.Turn = f.last.Turn + 1
	slot := 1 - f.slot
	if _, err := f.f.WriteAt(m.slot(), slot*slotSize); err != nil {
		return err
	}
	if err := f.f.Sync(); err != nil {
		return err
	}
	f.last, f.slot = m, slot
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }
