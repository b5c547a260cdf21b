//go:build unix

package files

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnlock: the lock is free, although a program that is being started has the open
// file until it has begun.
func TestUnlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	one, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := TryLock(one); err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(int(one.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	if err := Unlock(one); err != nil {
		t.Fatal(err)
	}
	two, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if err := TryLock(two); err != nil {
		t.Errorf("after the release: %v", err)
	}
}
