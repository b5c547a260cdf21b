package sealedfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/platform/files"
)

// suffixes are those of the files that one database consists of.
var suffixes = []string{"", "-wal", "-shm"}

// ownFolder sees to it that a file's folder is there and its user's alone: whoever
// else can write to one can take files away and put others there.
func ownFolder(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("the folder is open to others: %w", err)
	}
	return nil
}

// private sees to it that the files, in a folder that is, are their user's alone.
func private(path string) error {
	for _, suffix := range suffixes {
		flag := os.O_RDWR
		if suffix != "-wal" { // SQLite makes the log, with the permissions of the first
			flag |= os.O_CREATE
		}
		f, err := files.OpenNoFollow(path+suffix, flag, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = f.Chmod(0o600)
		}
		if err == nil {
			err = files.MakePrivate(f)
		}
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// lock keeps other processes from opening the file or setting it aside, until
// unlock is called or the process ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := ownFolder(path); err != nil {
		return nil, err
	}
	f, err := files.OpenNoFollow(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := files.Lock(ctx, f, 2*time.Millisecond); err != nil {
		f.Close()
		return nil, err
	}
	return func() { _ = files.Unlock(f) }, nil
}

// AsideMark stands in the names of files that were set aside, before the time.
const AsideMark = ".aside-"

// setAside renames the file, for that reason, and says so. The caller has the
// lock and no connection.
func (f *File) setAside(reason error) error {
	to := f.path + AsideMark + f.o.Now().UTC().Format("20060102T150405.000000000")
	for base, i := to, 1; exists(to); i++ {
		to = fmt.Sprintf("%s-%d", base, i)
	}
	for _, suffix := range suffixes {
		if err := os.Rename(f.path+suffix, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("set aside: %w", err)
		}
	}
	f.o.Warn(fmt.Sprintf("%s is %s: set aside as %s, and a new one begins", f.o.What, why(reason), to))
	f.forget()
	return nil
}

// why is a reason without what SQLite said.
func why(reason error) string {
	for _, known := range []error{ErrDamaged, ErrNewer} {
		if errors.Is(reason, known) {
			return known.Error()
		}
	}
	return reason.Error()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// forget removes the oldest files that were set aside, but for those that stay.
func (f *File) forget() {
	if f.o.Keep <= 0 {
		return
	}
	var aside []string
	entries, _ := os.ReadDir(filepath.Dir(f.path))
	for _, e := range entries {
		name := filepath.Join(filepath.Dir(f.path), e.Name())
		if strings.HasPrefix(name, f.path+AsideMark) && !strings.HasSuffix(name, "-wal") && !strings.HasSuffix(name, "-shm") {
			aside = append(aside, name)
		}
	}
	slices.Sort(aside) // by time
	for _, name := range aside[:max(len(aside)-f.o.Keep, 0)] {
		for _, suffix := range suffixes {
			_ = os.Remove(name + suffix) // one that stays is removed the next time
		}
	}
}
