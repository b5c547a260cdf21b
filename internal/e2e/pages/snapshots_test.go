package pages

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
)

// TestGoldenSnapshotsByHand runs the commands of docs/snapshots.md in a copy of
// testdata/bundles.
func TestGoldenSnapshotsByHand(t *testing.T) {
	for _, program := range []string{"zstd", "tar", "sha256sum", "age"} {
		if !installed(program) {
			notrun.Part(t, "no "+program+" for the commands of docs/snapshots.md (make snapshot-deps)")
			return
		}
	}
	const name = "docs/snapshots.md"
	page, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	section, err := Section(page, "By hand")
	if err != nil {
		t.Fatal(err)
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "testdata", "bundles"))); err != nil {
		t.Fatal(err)
	}
	shown := Console(section)
	if len(shown) < 6 {
		t.Fatalf("the section has %d commands only", len(shown))
	}
	got, err := Run(context.Background(), dir, Env(dir, "TZ=UTC", "LC_ALL=C"), shown)
	if err != nil {
		t.Fatal(err)
	}
	shows(t, name, section, shown, got)
}
