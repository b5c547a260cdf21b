package sealedfile

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testApplication = 0x656e6774

var testKey = [32]byte{1, 2, 3}

// opened opens a file of the tests' kind; warned collects what is said.
func opened(t *testing.T, path string, key [32]byte, change func(*Options)) (*File, *[]string, error) {
	t.Helper()
	var warned []string
	o := Options{What: "the test's file", Application: testApplication, Warn: func(s string) { warned = append(warned, s) },
		Schema: []string{"CREATE TABLE notes (slug TEXT PRIMARY KEY, text BLOB NOT NULL) STRICT"}}
	if change != nil {
		change(&o)
	}
	f, err := Open(t.Context(), path, key, o)
	if err == nil {
		t.Cleanup(func() { f.Close() })
	}
	return f, &warned, err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(f *File, slug, text string) error {
	return f.Write(context.Background(), func(tx *Tx) error {
		return tx.Exec("INSERT INTO notes VALUES (?, ?) ON CONFLICT (slug) DO UPDATE SET text = excluded.text", slug, []byte(text))
	})
}

func get(f *File, slug string) (text string, err error) {
	err = f.Read(context.Background(), func(tx *Tx) error {
		for r := range tx.Rows("SELECT text FROM notes WHERE slug = ?", slug) {
			text = string(r.Blob(0))
		}
		return nil
	})
	return text, err
}

func TestKeepsWhatIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?#%", "one.db")
	f, warned, err := opened(t, path, testKey, nil)
	must(t, err)
	must(t, put(f, "core", "hello"))
	failed := errors.New("changed my mind")
	if err := f.Write(t.Context(), func(tx *Tx) error {
		must(t, tx.Exec("DELETE FROM notes"))
		return failed
	}); !errors.Is(err, failed) {
		t.Fatalf("Write returned %v", err)
	}
	must(t, f.Close())
	if f, warned, err = opened(t, path, testKey, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := get(f, "core"); text != "hello" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if len(*warned) > 0 {
		t.Errorf("warned %q", *warned)
	}
}

// files returns what lies in a folder, and fails for anything that others than
// its user may read.
func filesIn(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		if !info.IsDir() {
			all[path], err = os.ReadFile(path)
			must(t, err)
		}
		return nil
	}))
	return all
}

func TestNothingIsReadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "engramd")
	f, _, err := opened(t, filepath.Join(dir, "one.db"), testKey, nil)
	must(t, err)
	secret := "the launch code is 4711"
	must(t, put(f, "mem/secrets/launch", strings.Repeat(secret, 500)))
	all := filesIn(t, dir)
	if len(all) < 4 {
		t.Fatalf("only %d files: database, log, index and lock were expected", len(all))
	}
	for path, data := range all {
		for _, word := range []string{secret, "mem/secrets", "notes", "SQLite format", string(testKey[:])} {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s holds %q", path, word)
			}
		}
	}
}

// TestDamage: whatever becomes of the bytes, the file is used as it was written
// or set aside.
func TestDamage(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 4000) // fills pages that no structure is in
	flip := func(at func(size int) int) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			must(t, err)
			data[at(len(data))] ^= 4
			must(t, os.WriteFile(path, data, 0o600))
		}
	}
	write := func(data string) func(*testing.T, string) {
		return func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(data), 0o600)) }
	}
	truncate := func(by func(size int64) int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			info, err := os.Stat(path)
			must(t, err)
			must(t, os.Truncate(path, by(info.Size())))
		}
	}
	for name, damage := range map[string]func(*testing.T, string){
		"first byte":        flip(func(int) int { return 0 }),
		"header":            flip(func(int) int { return 30 }),
		"second page":       flip(func(int) int { return 4096 + 77 }),
		"a page of text":    flip(func(size int) int { return size / 2 }),
		"last byte":         flip(func(size int) int { return size - 1 }),
		"cut in the middle": truncate(func(n int64) int64 { return n/2 + 11 }),
		"cut by a page":     truncate(func(n int64) int64 { return n - 4096 }),
		"cut to a byte":     truncate(func(int64) int64 { return 1 }),
		"emptied":           truncate(func(int64) int64 { return 0 }),
		"plain text":        write(strings.Repeat("not a database\n", 4096)),
		"plain SQLite":      write("SQLite format 3\x00" + strings.Repeat("\x00", 8176)),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "one.db")
			f, _, err := opened(t, path, testKey, nil)
			must(t, err)
			must(t, put(f, "core", long))
			must(t, put(f, "mem/a", long))
			must(t, f.Settle(t.Context()))
			must(t, f.Close())
			damage(t, path)
			f, warned, err := opened(t, path, testKey, nil)
			must(t, err)
			text, err := get(f, "core")
			other, otherErr := get(f, "mem/a")
			if err = errors.Join(err, otherErr); errors.Is(err, ErrDamaged) {
				must(t, f.reopen(t.Context(), f.round, err))
				if len(*warned) != 1 {
					t.Errorf("warned %q", *warned)
				}
				text, err = get(f, "core")
				other, _ = get(f, "mem/a")
			}
			must(t, err)
			if text != "" && text != long || other != "" && other != long {
				t.Errorf("read texts that nobody wrote, of %d and %d bytes", len(text), len(other))
			}
			must(t, put(f, "core", "new"))
			if text, err := get(f, "core"); text != "new" || err != nil {
				t.Errorf("read %q, %v", text, err)
			}
			if aside, _ := filepath.Glob(path + AsideMark + "*"); len(*warned) != min(len(aside), 1) || text == "" && len(aside) == 0 && name != "emptied" {
				t.Errorf("%d files set aside, and warned %q", len(aside), *warned)
			}
		})
	}
}

// TestWhatIsSetAside: a file of another key, kind, version or place.
func TestWhatIsSetAside(t *testing.T) {
	tests := []struct {
		name   string
		key    [32]byte
		change func(*Options)
		says   string
		err    error
	}{
		{name: "another key", key: [32]byte{9}, says: "damaged, or of another key"},
		{name: "another kind", key: testKey, change: func(o *Options) { o.Application++ }, says: "of something else"},
		{name: "a later version", key: testKey, change: func(o *Options) { o.Schema = nil }, says: "of a later version"},
		{name: "a later version that stays", key: testKey, change: func(o *Options) { o.Schema, o.RefuseNewer = nil, true }, err: ErrNewer},
		{name: "another place", key: testKey, says: "of something else", change: func(o *Options) {
			o.Check = func(tx *Tx) error {
				found, err := tx.Has("SELECT 1 FROM notes"), tx.Err()
				if err == nil && found {
					return ErrForeign
				}
				return err
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "one.db")
			f, _, err := opened(t, path, testKey, nil)
			must(t, err)
			must(t, put(f, "core", "first"))
			must(t, f.Close())
			f, warned, err := opened(t, path, test.key, test.change)
			if !errors.Is(err, test.err) {
				t.Fatalf("Open returned %v", err)
			}
			aside, _ := filepath.Glob(path + AsideMark + "*[0-9]")
			if test.err != nil {
				if len(aside) > 0 {
					t.Errorf("set aside: %q", aside)
				}
				return
			}
			must(t, f.Close())
			if len(aside) != 1 || len(*warned) != 1 || !strings.Contains((*warned)[0], test.says) || strings.Contains((*warned)[0], "\n") {
				t.Fatalf("set aside %q, said %q", aside, *warned)
			}
			// It is whole where it is now.
			f, _, err = opened(t, aside[0], testKey, nil)
			must(t, err)
			if text, err := get(f, "core"); text != "first" || err != nil {
				t.Errorf("the file that was set aside says %q, %v", text, err)
			}
		})
	}
}

func TestKeepsSomeOfWhatWasSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.db")
	for i := range 5 {
		f, _, err := opened(t, path, [32]byte{byte(i)}, func(o *Options) { o.Keep = 2 })
		must(t, err)
		must(t, put(f, "core", "x"))
		must(t, f.Close())
	}
	if aside, _ := filepath.Glob(path + AsideMark + "*[0-9]"); len(aside) != 2 {
		t.Errorf("%q stay", aside)
	}
}

// TestMovedAway: what is written into a file that is no longer in its place
// would be lost, and is refused.
func TestMovedAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.db")
	f, _, err := opened(t, path, testKey, nil)
	must(t, err)
	must(t, put(f, "core", "first"))
	must(t, os.Rename(path, path+".elsewhere"))
	err = put(f, "core", "second")
	if !errors.Is(err, ErrMoved) {
		t.Fatalf("a write returned %v", err)
	}
	must(t, f.reopen(t.Context(), f.round, err))
	must(t, put(f, "core", "third"))
	if text, err := get(f, "core"); text != "third" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
}

func TestFullFile(t *testing.T) {
	f, _, err := opened(t, filepath.Join(t.TempDir(), "one.db"), testKey, func(o *Options) { o.MaxBytes = 64 << 10 })
	must(t, err)
	must(t, put(f, "core", "first"))
	if err := put(f, "mem/a", strings.Repeat("x", 1<<20)); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("a write beyond the bound returned %v", err)
	}
	if text, err := get(f, "core"); text != "first" || err != nil {
		t.Errorf("afterwards it says %q, %v", text, err)
	}
	must(t, put(f, "mem/b", "second"))
}

func TestClosed(t *testing.T) {
	f, _, err := opened(t, filepath.Join(t.TempDir(), "one.db"), testKey, nil)
	must(t, err)
	must(t, f.Close())
	must(t, f.Close())
	if err := put(f, "core", "x"); !errors.Is(err, ErrClosed) {
		t.Errorf("Write returned %v", err)
	}
	if err := f.reopen(t.Context(), f.round, ErrMoved); !errors.Is(err, ErrClosed) {
		t.Errorf("reopen returned %v", err)
	}
}

func TestKey(t *testing.T) {
	a, err := Key([32]byte{1}, "engramd/mirror/v1")
	must(t, err)
	b, _ := Key([32]byte{1}, "engramd/state/v1")
	c, _ := Key([32]byte{2}, "engramd/mirror/v1")
	if a == b || a == c || a == ([32]byte{}) {
		t.Error("keys do not differ")
	}
}

// TestInMemory: without a path a file is the same, and nothing is on the disk.
func TestInMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := Open(context.Background(), "", [32]byte{1}, Options{What: "a thing", Application: 7, Schema: []string{"CREATE TABLE t (n INTEGER)"}, Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := func() (n int64) {
		t.Helper()
		if err := f.Read(context.Background(), func(tx *Tx) error {
			n = tx.Int("SELECT count(*) FROM t")
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 3 {
		if err := f.Write(context.Background(), func(tx *Tx) error { return tx.Exec("INSERT INTO t VALUES (1)") }); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Write(context.Background(), func(tx *Tx) error {
		return errors.Join(tx.Exec("INSERT INTO t VALUES (1)"), errors.New("no"))
	}); err == nil || count() != 3 {
		t.Errorf("%v, %d rows", err, count())
	}
	if err := f.reopen(context.Background(), f.round, ErrDamaged); err != nil || count() != 0 {
		t.Errorf("anew: %v, %d rows", err, count())
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
