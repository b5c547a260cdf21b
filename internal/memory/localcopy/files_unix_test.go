//go:build unix

package localcopy

import (
	"os"
	"syscall"
	"testing"
)

// TestPermissions: the files are their user's alone, whatever the umask.
func TestPermissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir() + "/cache/engramd"
	if err := os.MkdirAll(dir, 0o777); err != nil { // somebody was here first
		t.Fatal(err)
	}
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{Dir: dir})
	put(t, m, near, a.write("mem/a", "text", 1))
	shown(t, m)
	look := func(least int) {
		t.Helper()
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder is %v, %v", info.Mode(), err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) < least {
			t.Fatalf("%d files, %v", len(entries), err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s is %v, %v", e.Name(), info.Mode(), err)
			}
		}
	}
	look(3)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	look(1)
}
