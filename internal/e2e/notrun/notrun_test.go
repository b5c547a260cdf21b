package notrun_test

import (
	"os"
	"path/filepath"
	"testing"

	"engramd/internal/e2e/notrun"
)

// TestNotesAreKept: a skipped test and a part that was left out get a line
// each.
func TestNotesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	t.Setenv(notrun.File, path)
	skipped := false
	t.Run("skip", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		notrun.Skip(t, "no moon\n")
	})
	notrun.Part(t, "no sun")
	got, err := os.ReadFile(path)
	want := "TestNotesAreKept/skip DID NOT RUN on this machine: no moon\nTestNotesAreKept DID NOT RUN in full on this machine: no sun\n"
	if err != nil || string(got) != want || !skipped {
		t.Errorf("skipped %v, %v: %q", skipped, err, got)
	}
}
