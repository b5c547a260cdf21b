//go:build unix

package folder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"engramd/nips/nipae"
)

// TestHostileTree: nothing outside the folder is read or written, nothing stops
// the run, and an unreadable file never looks deleted.
func TestHostileTree(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, map[nipae.Slug]string{"mem/a": "a", "mem/out": "o", "mem/dir/x": "x", "mem/pipe": "p", "mem/big": "b", "mem/bytes": "y"})
	if _, err := r.run(whole); err != nil {
		t.Fatal(err)
	}
	at := func(p string) string { return filepath.Join(r.dir, p) }
	do := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	do(os.Remove(at("mem/out.md")), os.Symlink(outside, at("mem/out.md")),
		os.RemoveAll(at("mem/dir")), os.Symlink(filepath.Dir(outside), at("mem/dir")),
		os.Symlink("nowhere", at("mem/dangling.md")), os.Symlink(".", at("mem/loop")), os.Symlink("a.md", at("mem/inside.md")),
		os.Remove(at("mem/pipe.md")), syscall.Mkfifo(at("mem/pipe.md"), 0o600),
		os.WriteFile(at("mem/big.md"), []byte(strings.Repeat("x", nipae.MaxBody+1)), 0o600),
		os.WriteFile(at("mem/bytes.md"), []byte("\xff\xfe"), 0o600),
		os.WriteFile(at("mem/.hidden.md"), []byte("h"), 0o600),
		os.WriteFile(at("mem/picture.png"), []byte("p"), 0o600))
	r.mem.put("mem/out", "o2")
	r.mem.put("mem/dir/x", "x2")
	r.mem.put("mem/dir/secret", "a file of that name lies there")
	got, err := r.run(deleting(whole))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got["mem/a"] != Same {
		t.Errorf("did %v", got)
	}
	if text, _ := os.ReadFile(outside); string(text) != "outside" {
		t.Errorf("a file outside is %q", text)
	}
	if names, _ := os.ReadDir(filepath.Dir(outside)); len(names) != 1 {
		t.Errorf("outside are %v", names)
	}
	if len(r.mem.texts) != 7 {
		t.Errorf("the memory is %v", r.mem.texts)
	}
}

// TestInnerFolderIsALink: the program's own folder does not lead outside
// either.
func TestInnerFolderIsALink(t *testing.T) {
	outside := t.TempDir()
	r := newRig(t, map[nipae.Slug]string{"mem/a": "a"})
	if err := os.Symlink(outside, filepath.Join(r.dir, inner)); err != nil {
		t.Fatal(err)
	}
	tree, err := Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if err := tree.Lock(); err == nil {
		t.Error("a lock was made outside")
	}
	if err := tree.SaveState(NewState("a", "o")); err == nil {
		t.Error("a state was written outside")
	}
	if names, _ := os.ReadDir(outside); len(names) != 0 {
		t.Errorf("outside are %v", names)
	}
}

func TestModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	r := newRig(t, map[nipae.Slug]string{"mem/deep/er/a": "a"})
	if _, err := r.run(whole); err != nil {
		t.Fatal(err)
	}
	err := filepath.Walk(r.dir, func(p string, info os.FileInfo, err error) error {
		if err == nil && p != r.dir && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
