package write

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

var errDown = errors.New("a relay is down")

// From the first step to the last: whatever fails, nothing is lost, and what was
// not reached is said.
func TestRenameInSteps(t *testing.T) {
	start := func() *shelf {
		return newShelf("core", "See [[mem/a]].", "mem/a", stampedText("tags: [t]\n", "external", "text, not [[mem/a]]"), "mem/b", "[[mem/a]] [[mem/ab]]",
			"mem/c", "---\nsupports: [\"mem/a 0.5\", mem/ab]\nderived_from: [a]\nwho: [mem/a, a]\n---\nx", "mem/d", "mem/a is a word")
	}
	s := start()
	r, err := s.writer().Rename(t.Context(), "mem/a", "mem/new", true, nil)
	if err != nil || r.Kept != nil || len(r.Unmended) > 0 || r.MendErr != nil || !slices.Equal(r.Mended, []nipae.Slug{"core", "mem/b", "mem/c", "mem/new"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, ok := s.texts["mem/a"]; ok {
		t.Error("the old one is still there")
	}
	s.is(t, "core", "See [[mem/new]].")
	s.is(t, "mem/new", stampedText("tags: [t]\n", "external", "text, not [[mem/new]]"))
	s.is(t, "mem/b", stampedText("", "observed", "[[mem/new]] [[mem/ab]]"))
	s.is(t, "mem/d", "mem/a is a word")
	if got := s.texts["mem/c"]; !hasLine(got, `supports: [mem/new 0.5, mem/ab]`) || !hasLine(got, "who: [mem/new, a]") || !hasLine(got, "derived_from: [new]") {
		t.Errorf("mem/c is %q", got)
	}

	s = start()
	s.fails["mem/new"] = errDown
	if _, err := s.writer().Rename(t.Context(), "mem/a", "mem/new", true, nil); !errors.Is(err, errDown) || s.writes > 0 || s.texts["mem/a"] == "" {
		t.Errorf("the new one cannot be written: %v", err)
	}
	s = start()
	s.fails["mem/a"] = errDown
	if r, err := s.writer().Rename(t.Context(), "mem/a", "mem/new", false, nil); err != nil || !errors.Is(r.Kept, errDown) || s.texts["mem/new"] == "" || s.texts["mem/a"] == "" {
		t.Errorf("the old one cannot be removed: %+v, %v", r, err)
	}
	s = start()
	s.fails["mem/b"] = errDown
	if r, err := s.writer().Rename(t.Context(), "mem/a", "mem/new", true, nil); err != nil || len(r.Unmended) != 1 || r.Unmended[0].Slug != "mem/b" || len(r.Mended) != 3 {
		t.Errorf("a link cannot be mended: %+v, %v", r, err)
	}
	// The same call again does what was not reached.
	s = start()
	s.fails["mem/a"] = errDown
	if r, err := s.writer().Rename(t.Context(), "mem/a", "mem/new", false, nil); err != nil || r.Kept == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	delete(s.fails, "mem/a")
	r, err = s.writer().Rename(t.Context(), "mem/a", "mem/new", true, nil)
	if _, there := s.texts["mem/a"]; err != nil || r.Kept != nil || r.Outcome != Unchanged || r.Slug != "mem/new" || len(r.Mended) != 4 || there {
		t.Errorf("again: %+v, %v", r, err)
	}
	// What programs keep is not written, and said.
	s = start()
	s.texts["mem/proposals/1"] = "take [[mem/a]]"
	if r, err := s.writer().Rename(t.Context(), "mem/a", "mem/new", true, nil); err != nil || len(r.Unmended) != 1 || r.Unmended[0].Slug != "mem/proposals/1" || !errors.Is(r.Unmended[0], ErrReserved) {
		t.Errorf("a program's: %+v, %v", r, err)
	}
	s.is(t, "mem/proposals/1", "take [[mem/a]]")
	// Somebody changes the old one after it was read: that text is not removed.
	s = start()
	s.before = func(slug nipae.Slug) {
		if slug == "mem/a" {
			s.texts["mem/a"] = "newer"
		}
	}
	if r, err := s.writer().Rename(t.Context(), "mem/a", "mem/new", false, nil); err != nil || !errors.Is(r.Kept, client.ErrConflict) || s.texts["mem/a"] != "newer" {
		t.Errorf("a newer one: %+v, %v", r, err)
	}
	for _, c := range []struct {
		from, to nipae.Slug
		want     error
	}{{"mem/a", "mem/b", ErrTaken}, {"mem/a", "core", ErrField}, {"core", "mem/z", ErrField}, {"mem/a", "mem/a", ErrField}, {"mem/a", "mem/sys/a", ErrReserved},
		{"mem/sys/a", "mem/z", ErrReserved}, {"mem/none", "mem/z", client.ErrNotFound}} {
		s := start()
		if _, err := s.writer().Rename(t.Context(), c.from, c.to, true, nil); !errors.Is(err, c.want) || s.writes > 0 {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
}

// Where nobody's words change, they are from where they were: an episode stays
// one of its session, and the source is whose words they are.
func TestWordsStayFromWhereTheyWere(t *testing.T) {
	const episode = "---\ntype: episodic\nsession: \"7\"\ncreated: 2023-05-08\nsource: import:locomo\ntrust: external\n---\n[[mem/b]]"
	for way, do := range map[string]func(w *Writer) (Result, error){
		"link": func(w *Writer) (Result, error) {
			return w.Relate(t.Context(), Edge{From: "mem/e", To: "mem/b", Relation: "supports", Strength: 1}, memory.SetOptions{})
		},
		"tags": func(w *Writer) (Result, error) {
			return w.Write(t.Context(), "mem/e", Draft{Fields: Fields{Tags: []string{"t"}}}, memory.SetOptions{})
		},
		"superseded": func(w *Writer) (Result, error) {
			r, _, _, err := w.Supersede(t.Context(), "mem/new", Draft{Text: "x", Fields: Fields{Supersedes: []nipae.Slug{"mem/e"}}}, memory.SetOptions{})
			return r, err
		},
		"renamed": func(w *Writer) (Result, error) {
			r, err := w.Rename(t.Context(), "mem/e", "mem/f", false, nil)
			return r.Result, err
		},
		"mended": func(w *Writer) (Result, error) {
			r, err := w.Rename(t.Context(), "mem/b", "mem/c", true, nil)
			return r.Result, err
		},
		"rewritten in no session": func(w *Writer) (Result, error) {
			w.Session, w.Source = "", "import:locomo"
			return w.Write(t.Context(), "mem/e", Draft{Text: "other words"}, memory.SetOptions{})
		},
	} {
		s := newShelf("mem/e", episode, "mem/b", "b")
		if _, err := do(s.writer()); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		got := s.texts["mem/e"] + s.texts["mem/f"]
		for _, line := range []string{`session: "7"`, "created: 2023-05-08", "source: import:locomo", "trust: external"} {
			if !hasLine(got, line) && !hasLine(got, strings.Replace(line, "import:locomo", `"import:locomo"`, 1)) {
				t.Errorf("%s: %q lacks %s", way, got, line)
			}
		}
	}
	s := newShelf("mem/old", "from long ago")
	if _, err := s.writer().Rename(t.Context(), "mem/old", "mem/new", false, nil); err != nil || !hasLine(s.texts["mem/new"], "created: 2026-09-21T14:13:20Z") {
		t.Errorf("a rename makes it younger: %q, %v", s.texts["mem/new"], err)
	}
}

func hasLine(text, line string) bool {
	for l := range strings.SplitSeq(text, "\n") {
		if l == line {
			return true
		}
	}
	return false
}

func TestSupersedeInSteps(t *testing.T) {
	start := func() *shelf {
		return newShelf("mem/a", stampedText("", "told", "a"), "mem/b", "b")
	}
	in := Draft{Text: "new", Fields: Fields{Supersedes: []nipae.Slug{"mem/a", "mem/b"}}}
	s := start()
	_, marked, failed, err := s.writer().Supersede(t.Context(), "mem/new", in, memory.SetOptions{})
	if err != nil || len(marked) != 2 || len(failed) > 0 {
		t.Fatal(marked, failed, err)
	}
	s.is(t, "mem/new", stampedText("supersedes: [mem/a, mem/b]\n", "observed", "new"))
	if got := s.texts["mem/a"]; !hasLine(got, "state: superseded") || !hasLine(got, "trust: told") || Body("mem/a", got) != "a" {
		t.Errorf("mem/a is %q", got)
	}
	// Later ones are added.
	s.texts["mem/c"] = "c"
	if _, _, _, err := s.writer().Supersede(t.Context(), "mem/new", Draft{Fields: Fields{Supersedes: []nipae.Slug{"mem/c", "mem/a"}}}, memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	s.is(t, "mem/new", stampedText("supersedes: [mem/a, mem/b, mem/c]\n", "observed", "new"))

	s = start()
	s.fails["mem/a"] = errDown
	_, marked, failed, err = s.writer().Supersede(t.Context(), "mem/new", in, memory.SetOptions{})
	if err != nil || len(marked) != 1 || len(failed) != 1 || failed[0].Slug != "mem/a" || s.texts["mem/new"] == "" {
		t.Errorf("one cannot be marked: %v %v %v", marked, failed, err)
	}
	delete(s.fails, "mem/a")
	r, marked, failed, err := s.writer().Supersede(t.Context(), "mem/new", in, memory.SetOptions{})
	if err != nil || r.Outcome != Unchanged || len(marked) != 2 || len(failed) > 0 || !hasLine(s.texts["mem/a"], "state: superseded") {
		t.Errorf("the same call again: %v %v %v %v", r.Outcome, marked, failed, err)
	}
	s = start()
	delete(s.texts, "mem/b")
	var absent *AbsentError
	if _, _, _, err := s.writer().Supersede(t.Context(), "mem/new", in, memory.SetOptions{}); !errors.As(err, &absent) || absent.Slug != "mem/b" || s.writes > 0 {
		t.Errorf("one is not there: %v", err)
	}
}

func TestRelate(t *testing.T) {
	e := Edge{From: "mem/a", To: "mem/b", Relation: "supports", Strength: 0.5}
	s := newShelf("mem/a", "text", "mem/b", "b", "core", "I")
	if _, err := s.writer().Relate(t.Context(), e, memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	s.is(t, "mem/a", stampedText("supports: [mem/b 0.5]\n", "observed", "text"))
	if r, err := s.writer().Relate(t.Context(), e, memory.SetOptions{}); err != nil || r.Outcome != Unchanged || s.writes != 1 {
		t.Errorf("again: %v, %v", r.Outcome, err)
	}
	e.Strength = 1
	if _, err := s.writer().Relate(t.Context(), e, memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	s.is(t, "mem/a", stampedText("supports: [mem/b]\n", "observed", "text"))
	delete(s.texts, "mem/b") // it need not be there to be taken away
	if _, err := s.writer().Unrelate(t.Context(), e, memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	s.is(t, "mem/a", stampedText("", "observed", "text"))
	if _, err := s.writer().Unrelate(t.Context(), e, memory.SetOptions{}); !errors.Is(err, ErrField) {
		t.Errorf("what is not there: %v", err)
	}
	var absent *AbsentError
	if _, err := s.writer().Relate(t.Context(), e, memory.SetOptions{}); !errors.As(err, &absent) || absent.Slug != "mem/b" || !errors.Is(err, client.ErrNotFound) {
		t.Errorf("to nothing: %v", err)
	}
	for name, wrong := range map[string]Edge{
		"relation": {"mem/a", "core", "likes", 1}, "strength": {"mem/a", "core", "supports", 1.5}, "none": {"mem/a", "core", "supports", 0},
		"itself": {"mem/a", "mem/a", "supports", 1}, "core": {"core", "mem/a", "supports", 1}} {
		if _, err := s.writer().Relate(t.Context(), wrong, memory.SetOptions{}); !errors.Is(err, ErrField) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.texts["mem/m"] = "---\nsupports: {a: b}\n---\nx"
	if _, err := s.writer().Relate(t.Context(), Edge{"mem/m", "core", "supports", 1}, memory.SetOptions{}); !errors.Is(err, ErrField) || s.texts["mem/m"] != "---\nsupports: {a: b}\n---\nx" {
		t.Errorf("what is no list: %v", err)
	}
}
