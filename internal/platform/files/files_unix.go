//go:build unix

package files

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock on an open file, which ends with the file or its
// process. The error is ErrLocked if somebody else has it.
func TryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Unlock releases the lock on a file and closes it. Closing alone would leave the lock
// to a program that this process is just starting, until that has begun.
func Unlock(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// RemoveLocked removes a folder, and then gives the lock in it free: nobody
// takes it for one that was left behind.
func RemoveLocked(dir string, lock *os.File) error {
	return errors.Join(os.RemoveAll(dir), Unlock(lock))
}

// OpenNoFollow is os.OpenFile for a name that must not be a symbolic link.
func OpenNoFollow(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag|unix.O_NOFOLLOW, perm)
}

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// ReadOnly reports whether an error says that a file system cannot be written.
func ReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }

// Exposed reports how others than its user may read a file, "" if they may not.
// What is no regular file, a pipe for example, is nobody's business but the
// shell's.
func Exposed(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return "", err
	}
	return fmt.Sprintf("may be read by others (mode %04o): run chmod 600 %s", info.Mode().Perm(), f.Name()), nil
}

// Owned reports whether a file is this user's.
func Owned(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// MakePrivate has nothing to do where a file is made with mode 0600.
func MakePrivate(*os.File) error { return nil }
