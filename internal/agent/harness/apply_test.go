package harness

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/notrun"
)

func onDisk(t *testing.T) (Roots, string) {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".claude")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return Roots{Home: home, Project: t.TempDir()}, filepath.Join(dir, "settings.json")
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func planned(t *testing.T, name string, r Roots, e Entry) []Change {
	t.Helper()
	plan, err := named(t, name).Install(Disk{}, r, e)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Changes
}

func TestApplyKeepsModeAndLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		notrun.Skip(t, "links need a right of their own on Windows")
	}
	r, path := onDisk(t)
	real := filepath.Join(t.TempDir(), "dotfile.json")
	write(t, real, "{\"a\": 1}", 0o640)
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	if err := Apply(planned(t, "claude", r, entry), &[]string{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Fatalf("the link is %v, %v", info, err)
	}
	text, _ := os.ReadFile(real)
	if info, _ = os.Stat(real); info.Mode().Perm() != 0o640 || !strings.Contains(string(text), "--harness claude") {
		t.Errorf("the file has mode %v and holds %s", info.Mode(), text)
	}
	plan, err := named(t, "claude").Remove(Disk{}, r, Entry{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Apply(plan.Changes, &[]string{}); err != nil {
		t.Fatal(err)
	}
	if text, _ = os.ReadFile(real); string(text) != "{\"a\": 1}" {
		t.Errorf("a removal leaves %q", text)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(real), ".engram-*"))
	if len(left) > 0 {
		t.Errorf("%v stay", left)
	}
}

func TestApplyRefusesWhatChangedMeanwhile(t *testing.T) {
	r, path := onDisk(t)
	write(t, path, "{}", 0o600)
	changes := planned(t, "claude", r, entry)
	write(t, path, "{\"a\": 1}", 0o600)
	if err := Apply(changes, &[]string{}); !errors.Is(err, ErrChanged) {
		t.Fatalf("it says %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "{\"a\": 1}" {
		t.Errorf("it wrote %q", text)
	}
	if _, err := os.Stat(filepath.Join(r.Home, ".claude.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the other file was written: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := Apply(changes, &[]string{}); !errors.Is(err, ErrChanged) {
		t.Errorf("of a file that went it says %v", err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink(filepath.Join(r.Home, "nowhere"), path); err != nil {
			t.Fatal(err)
		}
		if err := Apply(planned(t, "claude", r, entry), &[]string{}); err == nil || !strings.Contains(err.Error(), "link to a file that is not there") {
			t.Errorf("of a link to nothing it says %v", err)
		}
	}
}

// Of several files the second fails: the error names the first, which was
// changed.
func TestApplySaysWhatWasDone(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.json"), filepath.Join(dir, "none", "two.json")
	write(t, one, "1", 0o600)
	err := Apply([]Change{
		{Path: one, Exists: true, Before: []byte("1"), After: []byte("2")},
		{Path: two, After: []byte("2"), Mode: 0o600},
	}, &[]string{})
	if err == nil || !strings.Contains(err.Error(), two) || !strings.Contains(err.Error(), "("+one+" was changed before that, and stays so)") {
		t.Errorf("it says %v", err)
	}
}

// A file that is to be removed stays if it was changed in the meantime.
func TestRemoveRefusesWhatChangedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	write(t, path, "theirs", 0o600)
	if err := apply(Change{Path: path, Exists: true, Before: []byte("ours")}, &[]string{}); !errors.Is(err, ErrChanged) {
		t.Errorf("it says %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "theirs" {
		t.Errorf("the file holds %q", text)
	}
}

func TestApplyMakesAndRemovesFolders(t *testing.T) {
	for _, h := range All() {
		r := Roots{Home: t.TempDir(), Project: t.TempDir()}
		made := []string{}
		for _, scope := range []Scope{User, Project} {
			e := entry
			e.Scope = scope
			if err := Apply(planned(t, h.Name, r, e), &made); err != nil {
				t.Fatal(err)
			}
			s, err := h.Check(Disk{}, r, e)
			if err != nil || h.Name != "generic" && !(h.Name == "openclaw" && scope == Project) && !s.Installed {
				t.Errorf("%s: the check says %+v, %v", h.Name, s, err)
			}
			if scope == User && h.Name != "generic" && !s.Found {
				t.Errorf("%s is not found", h.Name)
			}
			plan, err := h.Remove(Disk{}, r, e)
			if err != nil {
				t.Fatal(err)
			}
			if err := Apply(plan.Changes, &made); err != nil {
				t.Fatal(err)
			}
		}
		for _, root := range []string{r.Home, r.Project} {
			left, _ := os.ReadDir(root)
			for _, entry := range left {
				if entry.Name() != ".config" { // shared by other programs
					t.Errorf("%s leaves %s", h.Name, entry.Name())
				}
			}
		}
		if len(made) > 0 {
			t.Errorf("%s has left %q, it is said", h.Name, made)
		}
	}
}

// TestRemoveKeepsFolders: an empty folder that was there before setup is a person's.
func TestRemoveKeepsFolders(t *testing.T) {
	for _, h := range All() {
		r := Roots{Home: t.TempDir()}
		var there []string
		for _, c := range planned(t, h.Name, r, entry) {
			for _, folder := range c.Folders {
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				there = append(there, folder)
			}
		}
		made := []string{}
		if err := Apply(planned(t, h.Name, r, entry), &made); err != nil {
			t.Fatal(err)
		}
		plan, err := h.Remove(Disk{}, r, entry)
		if err != nil {
			t.Fatal(err)
		}
		if err := Apply(plan.Changes, &made); err != nil {
			t.Fatal(err)
		}
		for _, folder := range there {
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 && !slices.Contains(there, filepath.Join(folder, left[0].Name())) {
				t.Errorf("%s: %v, %v", h.Name, left, err)
			}
		}
	}
}

// A hook's line exits with 0 whatever engramctl does, from a folder of any
// name.
func TestHookLinesFailSafe(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		notrun.Skip(t, "there is no sh here")
	}
	for _, name := range []string{"plain", "with blank", "it's", "a\"b$c`d\\e", "ünï", "-dash"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		binary := filepath.Join(dir, "engramctl")
		write(t, binary, "#!/bin/sh\necho \"$@\"\nexit 2\n", 0o755)
		line, err := hookCommand(posix, Entry{Binary: binary, Profile: "work"}, "stop", "claude")
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(sh, "-c", line).Output()
		if err != nil || string(out) != "--profile work hook stop --harness claude\n" {
			t.Errorf("%s gives %q, %v", line, out, err)
		}
		if c, r := readLine(line, "stop", "claude"); c != ours || r != (run{binary: binary, profile: "work"}) {
			t.Errorf("%s is read as %v %+v", line, c, r)
		}
	}
}

func TestDiff(t *testing.T) {
	got := Diff([]Change{
		{Path: "a", Exists: true, Before: []byte("1\n2\n3\n4\n5\n6"), After: []byte("1\n2\n3\n4\nnew\n5\n6")},
		{Path: "b", After: []byte("x\n")},
		{Path: "c", Exists: true, Before: []byte("y")},
	})
	want := "--- a\n+++ a\n@@ -2,5 +2,6 @@\n 2\n 3\n 4\n+new\n 5\n 6\n\\ No newline at end of file\n" +
		"--- /dev/null\n+++ b\n@@ -0,0 +1,1 @@\n+x\n--- c\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-y\n\\ No newline at end of file\n"
	if got != want {
		t.Errorf("it is\n%s", got)
	}
}
