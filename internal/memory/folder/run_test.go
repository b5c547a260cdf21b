package folder

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

type did = map[nipae.Slug]What

var whole = How{Mode: Sync, Whole: true}

func deleting(h How) How   { h.Delete = true; return h }
func in(h How, m Mode) How { h.Mode = m; return h }

// TestThreeSides: the outcome of each change on each side.
func TestThreeSides(t *testing.T) {
	texts := map[nipae.Slug]string{"core": "I", "mem/a": "a1", "mem/b": "b1\r\n\x00"}
	r := newRig(t, texts)
	r.want(whole, did{"core": ToFolder, "mem/a": ToFolder, "mem/b": ToFolder})
	if got := r.read("mem/b.md"); got != "b1\r\n\x00" {
		t.Fatalf("a text came out as %q", got)
	}
	same := did{"core": Same, "mem/a": Same, "mem/b": Same}
	r.want(whole, same)

	r.write("mem/a.md", "a2")
	r.want(in(whole, Export), did{"core": Same, "mem/a": Left, "mem/b": Same})
	r.mem.put("mem/b", "b2")
	r.want(in(whole, Import), did{"core": Same, "mem/a": ToMemory, "mem/b": Left})
	r.want(whole, did{"core": Same, "mem/a": Same, "mem/b": ToFolder})

	// Both sides changed.
	r.write("mem/a.md", "a3 here")
	r.mem.put("mem/a", "a3 there")
	r.want(whole, did{"core": Same, "mem/a": Conflict, "mem/b": Same})
	if r.read("mem/a.md") != "a3 here" || r.mem.texts["mem/a"] != "a3 there" || r.read("mem/a.conflict.md") != "a3 there" {
		t.Fatal("a conflict changed something, or is not there")
	}
	r.mem.put("mem/a", "a4 there")
	r.want(whole, did{"core": Same, "mem/a": Conflict, "mem/b": Same})
	if got := r.read("mem/a.conflict.md"); got != "a4 there" {
		t.Fatalf("beside the file lies %q", got)
	}
	// An unresolved conflict file stays; once it is gone the file counts.
	r.write("mem/a.conflict.md", "notes of mine")
	r.mem.put("mem/a", "a5 there")
	r.want(whole, did{"core": Same, "mem/a": Conflict, "mem/b": Same})
	if got := r.read("mem/a.conflict.md"); got != "notes of mine" {
		t.Fatalf("somebody's work became %q", got)
	}
	r.mem.put("mem/a", "a4 there")
	os.Remove(filepath.Join(r.dir, "mem/a.conflict.md"))
	r.want(whole, did{"core": Same, "mem/a": ToMemory, "mem/b": Same})
	if r.mem.texts["mem/a"] != "a3 here" {
		t.Fatal("a conflict that was settled did not count")
	}
}

// TestDeletions: nothing is deleted unless it is certain and requested.
func TestDeletions(t *testing.T) {
	r := newRig(t, map[nipae.Slug]string{"core": "I", "mem/a": "a", "mem/b": "b", "mem/c": "c", "mem/d": "d"})
	if _, err := r.run(whole); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(r.dir, "core.md"))
	os.Remove(filepath.Join(r.dir, "mem/a.md"))
	for _, s := range []nipae.Slug{"mem/b", "mem/c"} {
		delete(r.mem.texts, s)
		r.mem.gone[s] = true
	}
	r.write("mem/c.md", "c, worked on")
	delete(r.mem.texts, "mem/d") // no relay has it any more, and none has a tombstone
	kept := did{"core": Left, "mem/a": Left, "mem/b": Left, "mem/c": Left, "mem/d": Left}
	r.want(How{Mode: Sync, Delete: true}, kept)
	r.want(in(whole, Import), did{"core": Left, "mem/a": Left, "mem/b": Left, "mem/c": ToMemory, "mem/d": Left})
	kept["mem/c"] = Same
	r.want(whole, kept)
	r.want(deleting(whole), did{"core": Left, "mem/a": RemoveMemory, "mem/b": RemoveFile, "mem/c": Same, "mem/d": Left})
	if r.read("mem/d.md") != "d" || r.mem.texts["core"] != "I" || r.mem.texts["mem/c"] != "c, worked on" {
		t.Fatal("something went that must stay")
	}
	r.want(deleting(whole), did{"core": Left, "mem/c": Same, "mem/d": Left})
	// A removal that meets a change is dropped.
	os.Remove(filepath.Join(r.dir, "mem/c.md"))
	r.mem.put("mem/c", "c, from elsewhere")
	r.want(deleting(whole), did{"core": Left, "mem/c": ToFolder, "mem/d": Left})
}

// TestAnotherMachine: a write during the run is a conflict.
func TestAnotherMachine(t *testing.T) {
	r := newRig(t, map[nipae.Slug]string{"mem/a": "a1", "mem/b": "b1"})
	if _, err := r.run(whole); err != nil {
		t.Fatal(err)
	}
	r.write("mem/a.md", "a2")
	os.Remove(filepath.Join(r.dir, "mem/b.md"))
	r.mem.put("mem/c", "c1")
	r.before = func(what string) error {
		switch what {
		case "to-memory mem/a":
			r.mem.put("mem/a", "theirs")
		case "remove-memory mem/b":
			r.mem.put("mem/b", "theirs too")
		case "to-folder mem/c":
			r.write("mem/c.md", "an editor was quicker")
		}
		return nil
	}
	r.want(deleting(whole), did{"mem/a": Conflict, "mem/b": Refused, "mem/c": Left})
	r.before = nil
	if r.read("mem/a.conflict.md") != "theirs" || r.mem.texts["mem/b"] != "theirs too" || r.read("mem/c.md") != "an editor was quicker" {
		t.Fatal("somebody's text is lost")
	}
	r.want(deleting(whole), did{"mem/a": Conflict, "mem/b": ToFolder, "mem/c": Conflict})
}

// TestKilledAtEachStep ends a run before each of its steps, lets both sides
// change or not, and runs again: nothing is lost and no change becomes a
// conflict by mistake.
func TestKilledAtEachStep(t *testing.T) {
	for _, later := range []string{"", "memory", "folder"} {
		for at := 0; ; at++ {
			r := newRig(t, map[nipae.Slug]string{"core": "I", "mem/a": "a1", "mem/b": "b1", "mem/c": "c1", "mem/d": "d1"})
			if _, err := r.run(whole); err != nil {
				t.Fatal(err)
			}
			r.mem.put("mem/a", "a2")
			r.write("mem/b.md", "b2")
			r.write("mem/new.md", "new")
			r.mem.put("mem/fresh", "fresh")
			os.Remove(filepath.Join(r.dir, "mem/c.md"))
			delete(r.mem.texts, "mem/d")
			r.mem.gone["mem/d"] = true
			n, ended := 0, false
			r.before = func(what string) error {
				if n++; n > at {
					ended = true
					return fmt.Errorf("%w before %s", errEnd, what)
				}
				return nil
			}
			_, err := r.run(deleting(whole))
			if ended != errors.Is(err, errEnd) {
				t.Fatalf("step %d: %v", at, err)
			}
			r.before = nil
			want := map[nipae.Slug]string{"core": "I", "mem/a": "a2", "mem/b": "b2", "mem/new": "new", "mem/fresh": "fresh"}
			switch later {
			case "memory":
				r.mem.put("mem/a", "a3")
				want["mem/a"] = "a3"
			case "folder":
				r.write("mem/b.md", "b3")
				r.write("mem/new.md", "new 2")
				want["mem/b"], want["mem/new"] = "b3", "new 2"
			}
			got, err := r.run(deleting(whole))
			if err != nil {
				t.Fatalf("%s, step %d: %v", later, at, err)
			}
			for s, what := range got {
				if what == Conflict || what == Refused || what == Left {
					t.Errorf("%s, step %d: %s is %s", later, at, s, what)
				}
			}
			for s, text := range want {
				if r.read(PathOf(s)) != text || r.mem.texts[s] != text {
					t.Errorf("%s, step %d: %s is %q and %q, want %q", later, at, s, r.read(PathOf(s)), r.mem.texts[s], text)
				}
			}
			if len(r.mem.texts) != len(want) || r.read("mem/d.md") != "" {
				t.Errorf("%s, step %d: the memory is %v", later, at, r.mem.texts)
			}
			if !ended {
				break
			}
		}
	}
}

// TestRenamedFile: a renamed file keeps its recorded state.
func TestRenamedFile(t *testing.T) {
	r := newRig(t, map[nipae.Slug]string{"mem/a": "a1"})
	r.want(whole, did{"mem/a": ToFolder})
	if err := os.Rename(filepath.Join(r.dir, "mem/a.md"), filepath.Join(r.dir, "mem/A!.md")); err != nil {
		t.Fatal(err)
	}
	r.write("mem/A!.md", "a2")
	r.want(whole, did{"mem/a": ToMemory})
	r.mem.put("mem/a", "a3")
	r.want(whole, did{"mem/a": ToFolder})
	if r.read("mem/A!.md") != "a3" || r.read("mem/a.md") != "" {
		t.Fatal("the file did not keep its name")
	}
}

// TestCollision: two files of one slug are both named, and neither is written.
func TestCollision(t *testing.T) {
	r := newRig(t, nil)
	r.write("mem/My Notes.md", "1")
	r.write("my-notes.md", "2")
	_, err := r.run(whole)
	var c *CollisionError
	if !errors.As(err, &c) || c.Slug != "mem/my-notes" || c.A == c.B {
		t.Fatalf("the error is %v", err)
	}
	if len(r.mem.texts) != 0 {
		t.Fatal("something was written")
	}
}

// TestForeignState: a state that this program did not write is refused.
func TestForeignState(t *testing.T) {
	for _, text := range []string{"{", `{"version":2}`, `{"version":1,"files":{"../x.md":{"slug":"mem/x"}}}`, `{"version":1,"files":{".ssh/x.md":{"slug":"mem/x"}}}`,
		`{"version":1,"files":{"x.md":{"slug":"mem/x"},"y.md":{"slug":"mem/x"}}}`, `{"version":1,"files":{"x.md":{"slug":"X"}}}`} {
		r := newRig(t, nil)
		r.write(".engram/state.json", text)
		tree, err := Open(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tree.LoadState(); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", text, err)
		}
		tree.Close()
	}
	if err := NewState("a", "o").Of("b", "o"); !errors.Is(err, ErrState) {
		t.Error(err)
	}
	if memory.BaseNone == "" {
		t.Error("no base is any base")
	}
}

// TestRoundTrip: thousands of texts come back byte for byte, and the next run
// has nothing to do and writes nothing.
func TestRoundTrip(t *testing.T) {
	texts := map[nipae.Slug]string{}
	for i := range 5000 {
		texts[nipae.Slug(fmt.Sprintf("mem/f%d/n%d", i%50, i))] = fmt.Sprintf("---\ntype: episodic\n---\r\nnumber %d \x00\ufeff", i)
	}
	out := newRig(t, texts)
	if _, err := out.run(in(whole, Export)); err != nil {
		t.Fatal(err)
	}
	back := newRig(t, nil)
	if err := os.CopyFS(back.dir, os.DirFS(out.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(back.dir, inner)); err != nil {
		t.Fatal(err)
	}
	if _, err := back.run(in(whole, Import)); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(back.mem.texts, texts) {
		t.Fatal("what came back is not what went out")
	}
	out.before = func(what string) error { return fmt.Errorf("%w: %s", errEnd, what) }
	for _, mode := range []Mode{Export, Import, Sync} {
		if _, err := out.run(in(whole, mode)); err != nil {
			t.Error(err)
		}
	}
}

// TestLeftUnknown: nothing is advised to be written again that may only not be shown.
func TestLeftUnknown(t *testing.T) {
	for _, whole := range []bool{true, false} {
		want := map[bool]string{true: "mem set", false: "engramctl doctor"}[whole]
		s := Step{entry: Entry{Hash: "x"}}
		if s.onlyFile(How{Whole: whole}); s.What != Left || !strings.Contains(s.Why, want) {
			t.Errorf("%v: %s", whole, s.Why)
		}
	}
}
