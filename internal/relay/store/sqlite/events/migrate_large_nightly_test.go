//go:build nightly && linux

package events_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNumberingInBoundedMemory migrates a database many times as large as what
// it may use.
func TestNumberingInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector has memory of its own")
	}
	const cache, most = 4 << 20, 24 << 20
	path, size := largeOldDatabase(t, 100_000)
	if size < 3*most {
		t.Fatalf("a database of %d bytes shows nothing", size)
	}
	out := migrateElsewhere(t, path, cache)
	t.Logf("%d MB of memory for a database of %d MB", (out.Peak-out.Before)>>20, size>>20)
	if out.Peak-out.Before > most {
		t.Errorf("it took %d bytes, at most %d", out.Peak-out.Before, most)
	}
}

// TestNumberingKilled kills the process that migrates when so much of its
// transaction is in the log, again and again, and lets the last one finish. The
// result is that of a process that nobody killed.
func TestNumberingKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("a process of one goroutine is killed")
	}
	path, size := largeOldDatabase(t, 30_000)
	old := readFile(t, path)
	migrateElsewhere(t, path, 1<<20)
	want := contents(t, path)

	path = filepath.Join(t.TempDir(), "engramd.db")
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, logged := range []int64{1, size / 4, size / 2, size * 3 / 4} {
		cmd := migrateProcess(t.Context(), path, 1<<20)
		changes := watch(t, filepath.Dir(path))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for buf := make([]byte, 4096); sizeOf(path+"-wal") < logged; {
			if _, err := changes.Read(buf); err != nil {
				t.Fatalf("%d bytes never came into the log: %v", logged, err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		if v := version(t, path); v != beforeNumbers {
			t.Fatalf("with %d bytes in the log: version %d, it was not killed in the middle", logged, v)
		}
	}
	migrateElsewhere(t, path, 1<<20)
	if got := contents(t, path); got != want {
		t.Error("another database than without kills")
	}
}
