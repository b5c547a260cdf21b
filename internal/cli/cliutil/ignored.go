package cliutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// IgnoredPath returns the file of ignored relays.
func IgnoredPath(e *Env) string {
	path, _ := e.ConfigPath()
	return filepath.Join(filepath.Dir(path), "ignored-relays")
}

// IgnoredRelays reads it; without a file there are none.
func IgnoredRelays(e *Env) ([]string, error) {
	text, err := os.ReadFile(IgnoredPath(e))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ignored relays: %w", err)
	}
	return strings.Fields(string(text)), nil
}
