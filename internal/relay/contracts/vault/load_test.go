package vault

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const someKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenMakesAKeyOnce(t *testing.T) {
	o := Options{Setting: Auto, Dir: t.TempDir()}
	first, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Dir, FileName)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || first.Source() != path {
		t.Fatalf("%v, %v, source %s", info, err, first.Source())
	}
	if files, err := os.ReadDir(o.Dir); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	o.Check = bytes.Clone(first.Check())
	second, err := Open(o)
	if err != nil || !bytes.Equal(first.Check(), second.Check()) {
		t.Fatalf("opened again: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), path) {
		t.Errorf("the file is gone: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a second key was made for a database that has one")
	}
	o.Check = nil
	third, err := Open(o)
	if err != nil || bytes.Equal(first.Check(), third.Check()) {
		t.Errorf("two folders, one key: %v", err)
	}
}

func TestOpenTakesWhatIsGiven(t *testing.T) {
	dir := t.TempDir()
	env := func(name string) (string, bool) { return someKey + "\n", name == "ENGRAM_KEY" }
	file := write(t, filepath.Join(dir, "given"), "# a comment\n\n"+strings.ToUpper(someKey), 0o640)
	a, err := Open(Options{Setting: file, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(Options{Setting: "env:ENGRAM_KEY", Dir: dir, Env: env})
	if err != nil || !bytes.Equal(a.Check(), b.Check()) || b.Source() != "environment variable ENGRAM_KEY" {
		t.Errorf("%v, %q", err, b.Source())
	}
	if _, err := os.Stat(filepath.Join(dir, FileName)); err == nil {
		t.Error("a key was made although one was given")
	}
	off, err := Open(Options{Setting: Never, Dir: dir, Check: a.Check()})
	if err != nil || !errors.Is(off.On(), ErrOff) || !strings.Contains(off.On().Error(), "contracts.master_key") {
		t.Errorf("off: %v, %v", err, off.On())
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	good := func(name string, mode os.FileMode) string { return write(t, filepath.Join(dir, name), someKey, mode) }
	bad := func(name, text string) string { return write(t, filepath.Join(dir, name), text, 0o600) }
	none := func(string) (string, bool) { return "", false }
	for _, tt := range []struct {
		name string
		o    Options
		want error
	}{
		{"wrong key", Options{Setting: good("other", 0o600), Check: make([]byte, CheckSize)}, ErrWrongKey},
		{"readable by all", Options{Setting: good("exposed", 0o604)}, ErrExposed},
		{"not there", Options{Setting: filepath.Join(dir, "missing")}, os.ErrNotExist},
		{"a folder", Options{Setting: dir}, ErrKey},
		{"empty", Options{Setting: bad("empty", "")}, ErrKey},
		{"short", Options{Setting: bad("short", someKey[2:])}, ErrKey},
		{"no hex", Options{Setting: bad("hex", strings.Repeat("x", 64))}, ErrKey},
		{"two keys", Options{Setting: bad("two", someKey+"\n"+someKey)}, ErrKey},
		{"zeros", Options{Setting: bad("zeros", strings.Repeat("0", 64))}, ErrKey},
		{"too large", Options{Setting: bad("large", someKey+"\n"+strings.Repeat("#", 32<<10))}, ErrKey},
		{"no variable", Options{Setting: "env:NOTHING", Env: none}, nil},
		{"bad variable", Options{Setting: "env:X", Env: func(string) (string, bool) { return "hunter2", true }}, ErrKey},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Open(tt.o)
			if err == nil || v != nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if text := err.Error(); strings.Contains(text, someKey[2:]) || strings.Contains(text, "hunter2") || !strings.HasPrefix(text, "master key, ") && tt.want != nil {
				t.Errorf("says %q", text)
			}
		})
	}
}

// TestNoKeyWithoutRandom: no key is made when the random source fails.
func TestNoKeyWithoutRandom(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(Options{Dir: dir, Random: strings.NewReader("short")}); err == nil {
		t.Error("made a key")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("left %v, %v", files, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(someKey)
	f.Add("# x\r\n" + someKey + "\r\n")
	f.Add(someKey + someKey)
	f.Fuzz(func(t *testing.T, text string) {
		key, err := Parse(text)
		if err == nil && len(key) != KeySize || err != nil && (key != nil || !errors.Is(err, ErrKey)) {
			t.Errorf("%x, %v", key, err)
		}
	})
}
