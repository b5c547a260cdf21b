package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestTryLock: one holder at a time, and the lock ends with its file.
func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	one, two := open(), open()
	defer two.Close()
	if err := TryLock(one); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(two); !errors.Is(err, ErrLocked) {
		t.Errorf("held: %v", err)
	}
	if _, err := one.WriteAt([]byte("7"), 0); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "7" {
		t.Errorf("who holds it cannot be read: %q, %v", b, err)
	}
	one.Close()
	if err := TryLock(two); err != nil {
		t.Errorf("given free: %v", err)
	}
}

// TestRemoveLocked: no file is left, and the lock is free.
func TestRemoveLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "staging")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(TryLock(lock), RemoveLocked(dir, lock)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there still: %v", err)
	}
}

// TestPrivate: a private file is not exposed, and can be written again.
func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for _, text := range []string{"one", "two"} {
		f, err := OpenNoFollow(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err == nil {
			err = WritePrivate(f, []byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
		if f, err = os.Open(path); err != nil {
			t.Fatal(err)
		}
		how, err := Exposed(f)
		f.Close()
		if b, _ := os.ReadFile(path); how != "" || err != nil || string(b) != text {
			t.Errorf("%q, %v; %q", how, err, b)
		}
	}
	if err := SyncDir(filepath.Dir(path)); err != nil {
		t.Error(err)
	}
}

// TestOpenNoFollow: a link is refused, wherever it leads.
func TestOpenNoFollow(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, []byte("x"), 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if f, err := OpenNoFollow(link, os.O_WRONLY|os.O_TRUNC, 0o600); err == nil {
		f.Close()
		t.Error("a link is followed")
	}
}

// TestMissing: a file below a file is missing too.
func TestMissing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file + "x", filepath.Join(file, "x")} {
		if _, err := os.ReadFile(path); !Missing(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if Missing(os.ErrPermission) || Missing(nil) {
		t.Error("what is there is missing")
	}
}
