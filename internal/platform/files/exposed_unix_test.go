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

// TestOwned: a file that belongs to another user is not this one's.
func TestOwned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.key")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owned := func(path string) bool {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return Owned(info)
	}
	if !owned(path) {
		t.Error("one's own is not")
	}
	other := "/etc/passwd"
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 4242, -1); err != nil {
			t.Fatal(err)
		}
		other = path
	}
	if owned(other) {
		t.Error("another's is one's own")
	}
}
