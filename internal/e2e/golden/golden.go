// Package golden compares what a test makes with files of the repository.
// make generate writes the files instead: it sets ENGRAMD_GENERATE and runs the
// tests of this package's importers whose name contains Golden.
package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Update reports whether files are written instead of compared.
func Update() bool { return os.Getenv("ENGRAMD_GENERATE") != "" }

// Check compares a file with its text.
func Check(t testing.TB, path, text string) {
	t.Helper()
	if !strings.Contains(t.Name(), "Golden") {
		t.Fatalf("make generate does not run %s: its name lacks Golden", t.Name())
	}
	there, err := os.ReadFile(path)
	switch {
	case err == nil && string(there) == text:
	case !Update():
		t.Errorf("%s is stale: run make generate and read the difference: %v\n%s", path, err, difference(string(there), text))
	default:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// difference returns the first lines by which two texts differ.
func difference(a, b string) string {
	for n := 1; ; n++ {
		was, restA, moreA := strings.Cut(a, "\n")
		is, restB, moreB := strings.Cut(b, "\n")
		if was != is || !moreA || !moreB {
			return fmt.Sprintf("line %d\n- %s\n+ %s", n, was, is)
		}
		a, b = restA, restB
	}
}

// Part compares the part of a file between two marks, the second of which may be
// "", the end. It returns what is before and after the part.
func Part(t testing.TB, path, begin, end, text string) (before, after string) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(whole), begin)
	ends := end == ""
	if !ends {
		_, after, ends = strings.Cut(rest, end)
	}
	if !found || !ends {
		t.Fatalf("%s lacks the marks %q and %q", path, begin, end)
	}
	Check(t, path, before+begin+text+end+after)
	return before, after
}

// Folder compares the files of a folder with texts by name. A file without a text
// is stale.
func Folder(t testing.TB, dir string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		Check(t, filepath.Join(dir, name), text)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if _, ok := texts[entry.Name()]; ok {
			continue
		}
		if !Update() {
			t.Errorf("%s belongs to nothing: run make generate", path)
		} else if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}
