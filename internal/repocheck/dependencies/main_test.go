package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// TestDependenciesAreListed: docs/dependencies.md has a row of each linked module,
// with its version, its programs and its use, and of no other.
func TestDependenciesAreListed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	all, err := linked(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d modules are linked", len(all))
	}
	for line := range strings.Lines(string(text)) {
		path, row := parse(line)
		m := all[path]
		delete(all, path)
		if path != "" && (row[1] != m.Version || row[4] != strings.Join(m.in, ", ") || row[5] == "" || row[5] == "what for") {
			t.Errorf("%s: make releases; linked is %s in %s: %s", page, m.Version, m.in, line)
		}
	}
	for path := range all {
		t.Errorf("%s has no row of %s: make releases", page, path)
	}
}
