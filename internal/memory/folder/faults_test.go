package folder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// deafMemory writes, and its answer is lost.
type deafMemory struct{ *fakeMemory }

func (m deafMemory) Set(ctx context.Context, s nipae.Slug, text, base string) (client.Entry, error) {
	_, err := m.fakeMemory.Set(ctx, s, text, base)
	return client.Entry{}, errors.Join(err, context.DeadlineExceeded)
}

// TestAnswerIsLost: a write whose answer was lost is no conflict with what is
// written in the folder afterwards.
func TestAnswerIsLost(t *testing.T) {
	r := newRig(t, map[nipae.Slug]string{"mem/a": "a1"})
	r.want(whole, did{"mem/a": ToFolder})
	r.write("mem/a.md", "a2")
	r.write("mem/new.md", "new")
	r.deaf = true
	r.want(whole, did{"mem/a": Refused, "mem/new": Refused})
	r.deaf = false
	if r.mem.texts["mem/a"] != "a2" {
		t.Fatal("the write was not taken")
	}
	r.write("mem/a.md", "a3")
	r.write("mem/new.md", "new 2")
	r.want(whole, did{"mem/a": ToMemory, "mem/new": ToMemory})
	if r.mem.texts["mem/a"] != "a3" || r.mem.texts["mem/new"] != "new 2" {
		t.Fatalf("the memory is %v", r.mem.texts)
	}
}

// TestConflictFileThatCannotBeRead: a conflict does not count as settled when
// the file beside it cannot be read.
func TestConflictFileThatCannotBeRead(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"too large": func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("x", nipae.MaxBody+1)), 0o600) },
		"a link":    func(p string) error { return errors.Join(os.Remove(p), os.Symlink("a.md", p)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[nipae.Slug]string{"mem/a": "theirs"})
			r.write("mem/a.md", "ours")
			r.want(whole, did{"mem/a": Conflict})
			if err := spoil(filepath.Join(r.dir, "mem/a.conflict.md")); err != nil {
				t.Fatal(err)
			}
			got, err := r.run(whole)
			if err != nil || got["mem/a"] == ToMemory || r.mem.texts["mem/a"] != "theirs" {
				t.Fatalf("did %v, %v; the memory is %v", got, err, r.mem.texts)
			}
		})
	}
}

// TestIndexOfAKilledRun: an index that was written just before a kill is
// recognized as the program's, and another program's file stays.
func TestIndexOfAKilledRun(t *testing.T) {
	r := newRig(t, nil)
	tree, err := Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	write := func(s *State, slugs ...nipae.Slug) error {
		l, err := tree.Scan()
		if err != nil {
			t.Fatal(err)
		}
		var units []Unit
		for _, slug := range slugs {
			units = append(units, Unit{Slug: slug})
		}
		return tree.WriteIndex(s, l, units, func(Unit) string { return "" })
	}
	kept := NewState("a", "o")
	if err := write(kept, "mem/a"); err != nil {
		t.Fatal(err)
	}
	// The state on disk when index.md has just been written.
	before := *kept
	if err := write(kept, "mem/a", "mem/b"); err != nil {
		t.Fatal(err)
	}
	before.ToIndex = kept.Index
	if err := write(&before, "mem/a", "mem/b", "mem/c"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.read(IndexName), "mem/c") || before.ToIndex != "" {
		t.Errorf("the index is %q", r.read(IndexName))
	}
	r.write(IndexName, "mine")
	if err := write(&before, "mem/a"); !errors.Is(err, ErrIndex) || r.read(IndexName) != "mine" {
		t.Errorf("somebody's index: %v", err)
	}
}
