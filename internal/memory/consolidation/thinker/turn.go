package thinker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/platform/files"
)

// Turn is the right to think, which one process of a user's has at a time. The
// file that is locked for it says how often somebody thought today.
type Turn struct {
	file *os.File
}

// spent is what the file holds.
type spent struct {
	Day  string `json:"day"` // in UTC
	Runs int    `json:"runs"`
}

const (
	dayForm   = "2006-01-02"
	maxRecord = 4096
)

// Take takes the turn: it ends with Close, or with the process. The error is
// ErrBusy if somebody else has it.
func Take(path string) (*Turn, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("the thinkers' lock: %w", err)
	}
	f, err := files.OpenNoFollow(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the thinkers' lock: %w", err)
	}
	if err := files.TryLock(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, files.ErrLocked) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("the thinkers' lock: %w", err)
	}
	return &Turn{file: f}, nil
}

// Spend counts one thought, before it is thought. The error is ErrBudget if the
// day has no more.
func (t *Turn) Spend(now time.Time, perDay int) error {
	text, err := io.ReadAll(io.NewSectionReader(t.file, 0, maxRecord))
	if err != nil {
		return fmt.Errorf("thoughts of today: %w", err)
	}
	var s spent
	today := now.UTC().Format(dayForm)
	if json.Unmarshal(text, &s) != nil || s.Day != today || s.Runs < 0 { // a new file, or another day's
		s = spent{Day: today}
	}
	if s.Runs >= perDay {
		return fmt.Errorf("%w: %d times", ErrBudget, s.Runs)
	}
	s.Runs++
	if text, err = json.Marshal(s); err != nil {
		return err
	}
	if err := t.file.Truncate(0); err != nil {
		return fmt.Errorf("thoughts of today: %w", err)
	}
	if _, err := t.file.WriteAt(append(text, '\n'), 0); err != nil {
		return fmt.Errorf("thoughts of today: %w", err)
	}
	return nil
}

// Close gives the turn to others.
func (t *Turn) Close() error { return t.file.Close() }
