package bench

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// copyDir copies a folder of plain files, which to must not exist for. Files
// share their blocks where the file system can (reflink); else what is written
// of them is copied, holes stay holes: LMDB's file is mostly hole. All is on
// disk when it returns, so that no write-back disturbs what is measured next.
func copyDir(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case entry.Type().IsRegular():
			if err := copyFile(path, target); err != nil {
				return fmt.Errorf("copy %s: %w", path, err)
			}
		}
		return nil // sockets and the like belong to a process
	})
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return out.Sync()
	}
	if err := copyData(out, in); err != nil {
		return err
	}
	return out.Sync()
}

// copyData copies the parts of a file that are no holes.
func copyData(out, in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := out.Truncate(info.Size()); err != nil {
		return err
	}
	for at := int64(0); at < info.Size(); {
		start, err := in.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // only a hole is left
		}
		if err != nil {
			return err
		}
		end, err := in.Seek(start, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if _, err := in.Seek(start, io.SeekStart); err != nil {
			return err
		}
		if _, err := out.Seek(start, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, end-start); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// diskUse returns what the files of a folder take on disk, in bytes, without
// holes.
func diskUse(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		var s unix.Stat_t
		if err := unix.Lstat(path, &s); err != nil {
			return err
		}
		total += s.Blocks * 512
		return nil
	})
	return total, err
}
