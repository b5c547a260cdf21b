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
