//go:build unix

package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestExposed: any permission of other users is reported, with what to do.
func TestExposed(t *testing.T) {
	for _, mode := range []os.FileMode{0o640, 0o604, 0o666, 0o610} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if how, err := Exposed(f); !strings.Contains(how, "chmod 600 "+path) || err != nil {
			t.Errorf("%o: %q, %v", mode, how, err)
		}
		f.Close()
	}
}

// TestReadOnly tells a read-only disk from a full one.
func TestReadOnly(t *testing.T) {
	for err, want := range map[error]bool{unix.EROFS: true, unix.ENOSPC: false} {
		if got := ReadOnly(fmt.Errorf("x: %w", &os.PathError{Op: "open", Path: "x", Err: err})); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
