package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"engramd/internal/platform/files"
)

const (
	stagingPrefix = ".staging-"
	stagingLock   = "lock"
	// A folder without a lock file this old was left by a process that died
	// between two system calls.
	stagingGrace = time.Minute
)

// Staging is a folder for files in the making, beside where they will lie. It
// holds a lock for as long as its process lives, so that SweepStaging can tell.
type Staging struct {
	dir  string
	lock *os.File
}

// NewStaging makes a staging folder in dir, readable by its owner only.
func NewStaging(dir string) (*Staging, error) {
	for range 8 {
		s, err := newStaging(dir)
		if err == nil || !errors.Is(err, errSwept) {
			return s, err
		}
	}
	return nil, fmt.Errorf("staging in %s: %w", dir, errSwept)
}

// errSwept means that a sweep came between making a folder and locking it.
var errSwept = errors.New("the folder was swept at once")

func newStaging(dir string) (*Staging, error) {
	path, err := os.MkdirTemp(dir, stagingPrefix) // mode 0700
	if err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(path, stagingLock), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		os.Remove(path)
		return nil, fmt.Errorf("staging: %w", err)
	}
	if files.TryLock(f) != nil || !isStill(f) {
		f.Close()
		return nil, errSwept
	}
	return &Staging{dir: path, lock: f}, nil
}

// isStill reports whether the file is the one that its name leads to.
func isStill(f *os.File) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(held, named)
}

// Path returns the path of a file in the folder.
func (s *Staging) Path(name string) string { return filepath.Join(s.dir, name) }

// Close removes the folder and what is left in it.
func (s *Staging) Close() error {
	return files.RemoveLocked(s.dir, s.lock)
}

// SweepStaging removes the staging folders in dir that processes left behind
// which are dead, and returns their number. Those of living ones stay.
func SweepStaging(dir string, now time.Time) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("sweep staging: %w", err)
	}
	n := 0
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), stagingPrefix) {
			continue
		}
		swept, err := sweepOne(filepath.Join(dir, e.Name()), now)
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep staging: %w", err))
		}
		if swept {
			n++
		}
	}
	return n, errors.Join(errs...)
}

func sweepOne(path string, now time.Time) (bool, error) {
	f, err := os.OpenFile(filepath.Join(path, stagingLock), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		info, err := os.Stat(path)
		if err != nil || now.Sub(info.ModTime()) < stagingGrace {
			return false, nil // gone meanwhile, or just being made
		}
		return true, os.RemoveAll(path)
	}
	if err != nil {
		return false, err
	}
	if err := files.TryLock(f); err != nil {
		f.Close()
		if errors.Is(err, files.ErrLocked) {
			return false, nil
		}
		return false, err
	}
	return true, files.RemoveLocked(path, f)
}
