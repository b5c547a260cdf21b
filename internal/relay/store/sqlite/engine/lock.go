package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"engramd/internal/platform/files"
)

// lockName is the file in the data folder that the running daemon holds locked.
// It stays when the daemon ends; the lock does not, however it ends.
const lockName = "engramd.lock"

// DirLock is the sole right to write into a data folder.
type DirLock struct{ f *os.File }

// LockedError says that another process holds the folder; errors.Is(err,
// ErrLocked) is true.
type LockedError struct {
	Dir string
	PID int // 0 when it could not be read
}

// Error names the holder.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s: %v by another process", e.Dir, ErrLocked)
	}
	return fmt.Sprintf("%s: %v by process %d", e.Dir, ErrLocked, e.PID)
}

// Is makes a LockedError an ErrLocked.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// Lock takes the data folder for this process. The folder must exist
// (PrepareDir). When another process holds it, the error is a *LockedError.
func Lock(dir string) (*DirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if err := files.TryLock(f); err != nil {
		defer f.Close()
		if errors.Is(err, files.ErrLocked) {
			return nil, &LockedError{Dir: dir, PID: readPID(f)}
		}
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if err := writePID(f); err != nil {
		_ = files.Unlock(f)
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	return &DirLock{f: f}, nil
}

// Unlock gives the folder free.
func (l *DirLock) Unlock() error {
	if err := errors.Join(l.f.Truncate(0), files.Unlock(l.f)); err != nil {
		return fmt.Errorf("unlock data folder: %w", err)
	}
	return nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPID(f *os.File) int {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
