package keyfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func want(t *testing.T, path, text string) {
	t.Helper()
	got, err := Read(path)
	if err != nil || string(got) != text {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 600", info, err)
	}
}

// names returns the names of the files in a folder.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestCreateNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.key")
	if err := Create(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
	want(t, path, "first")
	if err := Create(filepath.Join(filepath.Dir(path), "nothing", "b.key"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("created in no folder: %v", err)
	}
	if left := names(t, filepath.Dir(path)); !slices.Equal(left, []string{"a.key"}) {
		t.Errorf("left: %v", left)
	}
}

func TestStageAndSwitch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.key")
	if err := errors.Join(Create(path, []byte("first")), Stage(path, []byte("dropped")), Stage(path, []byte("second"))); err != nil {
		t.Fatal(err)
	}
	want(t, path, "first")
	want(t, Next(path), "second")
	if err := Switch(path); err != nil {
		t.Fatal(err)
	}
	want(t, path, "second")
	if err := Switch(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("switched to nothing: %v", err)
	}
	if err := errors.Join(Stage(path, []byte("third")), Unstage(path), Unstage(path)); err != nil {
		t.Error(err)
	}
	if left := names(t, filepath.Dir(path)); !slices.Equal(left, []string{"a.key"}) {
		t.Errorf("left: %v", left)
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]error{
		put("exposed", "x", 0o604): ErrExposed, put("writable", "x", 0o602): ErrExposed, put("large", strings.Repeat("x", maxSize+1), 0o600): ErrShape,
		dir: ErrShape, filepath.Join(dir, "nothing"): fs.ErrNotExist, put("group", "x", 0o640): nil, put("full", strings.Repeat("x", maxSize), 0o400): nil,
	} {
		if _, err := Read(path); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", filepath.Base(path), err, want)
		}
	}
}

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.key")
	if err := Remove(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v without a file", err)
	}
	if err := Create(path, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := Remove(path); err != nil {
		t.Fatal(err)
	}
	if list := names(t, filepath.Dir(path)); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
}
