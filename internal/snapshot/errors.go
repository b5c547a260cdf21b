package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"engramd/internal/platform/files"
)

var (
	// ErrNotFound means that there is no such bundle.
	ErrNotFound = errors.New("no such snapshot")
	// ErrLastVerified means that a bundle is the last verified one of its kind or
	// better, which is never deleted.
	ErrLastVerified = errors.New("the last verified snapshot is not deleted")
	// ErrParent means that other bundles rest on a bundle.
	ErrParent = errors.New("other snapshots rest on it")
	// ErrPinned means that a bundle is pinned.
	ErrPinned = errors.New("it is pinned: --force deletes it all the same")
	// ErrHeld means that the lock of an agent could not be had in time.
	ErrHeld = errors.New("the agent's snapshots are in use")
)

// CannotWrite reports whether an error of Store.Lock says that the folder can
// be read at most: a copy on read-only media, or somebody else's.
func CannotWrite(err error) bool {
	return files.ReadOnly(err) || errors.Is(err, fs.ErrPermission)
}

// HeldError says who holds the lock of an agent; it is an ErrHeld.
type HeldError struct {
	Agent string
	PID   int // 0 when it could not be read
}

// Error names the holder.
func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("agent %s: %v: held by another process", e.Agent, ErrHeld)
	}
	return fmt.Sprintf("agent %s: %v: held by pid %d", e.Agent, ErrHeld, e.PID)
}

// Is makes a HeldError an ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

const recordExtension = ".json"

// readRecord reads the record of a bundle; one that is missing or damaged is
// empty: it says nothing, and the bundle is still there.
func readRecord(dir, id string) (Record, error) {
	b, err := os.ReadFile(filepath.Join(dir, id+recordExtension))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, nil
	}
	if err != nil {
		return Record{}, fmt.Errorf("snapshots: %w", err)
	}
	var r Record
	if json.Unmarshal(b, &r) != nil {
		return Record{}, nil
	}
	return r, nil
}

// writeRecord replaces the record of a bundle as a whole.
func writeRecord(dir, id string, r Record) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	tmp := filepath.Join(dir, "."+id+recordExtension) // the agent's lock is held: nobody else writes it
	f, err := files.OpenNoFollow(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp, filepath.Join(dir, id+recordExtension))
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("snapshots: %w", err)
	}
	return files.SyncDir(dir)
}
