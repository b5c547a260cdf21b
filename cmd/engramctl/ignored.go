package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ignoredPath returns the file of ignored relays.
func ignoredPath(e *Env) string {
	path, _ := e.configPath()
	return filepath.Join(filepath.Dir(path), "ignored-relays")
}

// ignoredRelays reads it; without a file there are none.
func ignoredRelays(e *Env) ([]string, error) {
	text, err := os.ReadFile(ignoredPath(e))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ignored relays: %w", err)
	}
	return strings.Fields(string(text)), nil
}
