package wiring

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"engramd/internal/agent/harness"
)

// apply makes changes. Which folders setup made for settings stands beside the profiles,
// so that --remove takes none that was a person's.
func (w *Wiring) apply(changes []harness.Change) error {
	path, _ := w.Env.ConfigPath()
	c := harness.Change{Path: filepath.Join(filepath.Dir(path), "made-folders.json"), Mode: 0o600}
	var made []string
	if text, err := os.ReadFile(c.Path); err == nil {
		c.Before, c.Exists = text, true
		_ = json.Unmarshal(text, &made) // of one that is damaged nothing is known, and no folder goes
	}
	was := slices.Clone(made)
	err := harness.Apply(changes, &made)
	switch text, failed := json.Marshal(made); {
	case slices.Equal(was, made):
		return err
	case len(made) > 0:
		c.After, c.Folders, err = text, []string{filepath.Dir(c.Path)}, errors.Join(err, failed)
	}
	return errors.Join(err, harness.Apply([]harness.Change{c}, &made))
}
