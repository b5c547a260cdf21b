package write

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

func TestWriteKeepsFields(t *testing.T) {
	const at = nipae.Slug("mem/x")
	half := 0.5
	for name, c := range map[string]struct {
		head string
		in   Draft
		want string
	}{
		"new":             {"", Draft{Text: "body"}, stampedText("", "observed", "body")},
		"new with fields": {"", Draft{Text: "body", Fields: Fields{Type: "insight", Tags: []string{" a  b", "a b", ""}, Salience: &half}}, stampedText("type: insight\ntags: [a b]\nsalience: 0.5\n", "observed", "body")},
		"over a plain text, as other clients write them": {"plain", Draft{Text: "body"}, stampedText("", "observed", "body")},
		"another body":    {stampedText("odd:  kept\n", "observed", "old"), Draft{Text: "body"}, stampedText("odd:  kept\n", "observed", "body")},
		"another field":   {stampedText("odd:  kept\n", "observed", "old"), Draft{Text: "body", Fields: Fields{Description: "a\n b"}}, strings.Replace(stampedText("odd:  kept\n", "observed", "body"), "trust: observed\n", "trust: observed\ndescription: a b\n", 1)},
		"only a field":    {stampedText("tags: [a]\n", "told", "old"), Draft{Fields: Fields{Tags: []string{}}}, stampedText("", "told", "old")},
		"its own head":    {stampedText("tags: [a]\n", "observed", "old"), Draft{Text: "---\ntype: insight\n---\nbody"}, stampedText("type: insight\n", "observed", "body")},
		"all of it":       {stampedText("tags: [a]\n", "observed", "old"), Draft{Text: "body", Whole: true}, stampedText("", "observed", "body")},
		"lower":           {stampedText("", "observed", "old"), Draft{Text: "old", Fields: Fields{Trust: "external"}}, stampedText("", "external", "old")},
		"told, then ours": {stampedText("", "told", "old"), Draft{Text: "ours"}, stampedText("", "observed", "ours")},
		"broken head":     {"---\ntrust\n---\nold", Draft{Text: "body"}, stampedText("", "observed", "body")},
		"a head of 5 KiB": {"---\na: " + strings.Repeat("x", 5<<10) + "\n---\nold", Draft{Text: "body"}, stampedText("", "observed", "body")},
		"odd lines":       {"---\na: 1\n  nested: {\n\ttab\n---\nold", Draft{Text: "body"}, "---\na: 1\n  nested: {\n\ttab\n" + strings.TrimPrefix(stampedText("", "observed", "body"), "---\n")},
	} {
		s := newShelf()
		if c.head != "" {
			s.texts[at] = c.head
		}
		r, err := s.writer().Write(t.Context(), at, c.in, memory.SetOptions{})
		if err != nil || s.texts[at] != c.want || r.Hash != client.Hash(c.want) {
			t.Errorf("%s: %v\n%q\nwant\n%q", name, err, s.texts[at], c.want)
		}
		// Again, by another program in another session, it writes nothing.
		w := s.writer()
		w.Source, w.Session = "other", "s10"
		if r, err = w.Write(t.Context(), at, c.in, memory.SetOptions{}); err != nil || r.Outcome != Unchanged || s.writes != 1 || r.Hash != client.Hash(c.want) {
			t.Errorf("%s, again: %v, %v, %d writes: %q", name, r.Outcome, err, s.writes, s.texts[at])
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	two := 2.0
	for name, c := range map[string]struct {
		at   nipae.Slug
		in   Draft
		want error
	}{
		"nothing":            {"mem/x", Draft{}, client.ErrEmpty},
		"fields of nothing":  {"mem/new", Draft{Fields: Fields{Type: "insight"}}, client.ErrEmpty},
		"a type":             {"mem/x", Draft{Text: "b", Fields: Fields{Type: "poem"}}, ErrField},
		"salience":           {"mem/x", Draft{Text: "b", Fields: Fields{Salience: &two}}, ErrField},
		"trust":              {"mem/x", Draft{Text: "b", Fields: Fields{Trust: "told"}}, ErrField},
		"itself":             {"mem/x", Draft{Text: "b", Fields: Fields{Supersedes: []nipae.Slug{"mem/x"}}}, ErrField},
		"core":               {"mem/x", Draft{Text: "b", Fields: Fields{Supersedes: []nipae.Slug{"core"}}}, ErrField},
		"a long head":        {"mem/x", Draft{Text: "b", Fields: Fields{Description: strings.Repeat("x", 5<<10)}}, frontmatter.ErrHead},
		"a head not UTF-8":   {"mem/x", Draft{Text: "b", Fields: Fields{Description: "\xff"}}, frontmatter.ErrValue},
		"sys":                {"mem/sys/x", Draft{Text: "b"}, ErrReserved},
		"proposals":          {"mem/proposals/x", Draft{Text: "b"}, ErrReserved},
		"proposals' answers": {"mem/proposals-answers/x", Draft{Text: "b"}, ErrReserved},
	} {
		s := newShelf("mem/x", "before")
		if _, err := s.writer().Write(t.Context(), c.at, c.in, memory.SetOptions{}); !errors.Is(err, c.want) || s.writes > 0 {
			t.Errorf("%s: %v, %d writes", name, err, s.writes)
		}
	}
	if Reserved("mem/system") || Reserved("mem/proposals-of-ana") || Reserved("mem/sys") || !Reserved("mem/sys/a/b") {
		t.Error("too much or too little is reserved")
	}
}

// A text that comes in between is what fields and trust are taken from.
func TestWriteOverWhatIsThere(t *testing.T) {
	s := newShelf("mem/x", stampedText("", "observed", "old"))
	s.before = func(nipae.Slug) {
		s.texts["mem/x"], s.before = stampedText("tags: [theirs]\n", "external", "theirs"), nil
	}
	if _, err := s.writer().Write(t.Context(), "mem/x", Draft{Text: "ours"}, memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	s.is(t, "mem/x", stampedText("tags: [theirs]\n", "external", "ours"))

	// With a base it is a conflict, for each way.
	for way, write := range map[string]func(w *Writer) error{
		"write": func(w *Writer) error {
			_, err := w.Write(t.Context(), "mem/x", Draft{Text: "new"}, memory.SetOptions{Base: client.Hash("old")})
			return err
		},
		"append": func(w *Writer) error {
			_, err := w.Append(t.Context(), "mem/x", "new", memory.SetOptions{Base: client.Hash("old")})
			return err
		},
		"edit": func(w *Writer) error {
			_, err := w.Edit(t.Context(), "mem/x", "old", "new", memory.SetOptions{Base: client.Hash("old")})
			return err
		},
		"edit, of what is gone, without a base": func(w *Writer) error {
			_, err := w.Edit(t.Context(), "mem/x", "old", "new", memory.SetOptions{})
			return err
		},
	} {
		s := newShelf("mem/x", "old")
		s.before = func(nipae.Slug) { s.texts["mem/x"], s.before = "theirs", nil }
		if err := write(s.writer()); !errors.Is(err, client.ErrConflict) || s.texts["mem/x"] != "theirs" {
			t.Errorf("%s: %v, %q", way, err, s.texts["mem/x"])
		}
	}
	// Whoever is always faster does not keep us for ever.
	s = newShelf("mem/x", "0")
	s.before = func(nipae.Slug) { s.texts["mem/x"] += "0" }
	if _, err := s.writer().Write(t.Context(), "mem/x", Draft{Text: "new"}, memory.SetOptions{}); !errors.Is(err, client.ErrConflict) {
		t.Error(err)
	}
}

func TestEdit(t *testing.T) {
	const text = "one\ntwo\nthree two\naaa\n"
	for name, c := range map[string]struct {
		old, new string
		want     string // the body
		lines    []int
	}{
		"once":        {"three", "3", "one\ntwo\n3 two\naaa\n", nil},
		"two lines":   {"one\ntwo", "1", "1\nthree two\naaa\n", nil},
		"away":        {"one\n", "", "two\nthree two\naaa\n", nil},
		"twice":       {"two", "2", "", []int{2, 3}},
		"overlapping": {"aa", "b", "", []int{4, 4}},
		"missing":     {"four", "4", "", []int{}},
		"a field":     {"session", "x", "", []int{}},
	} {
		s := newShelf("mem/x", stampedText("tags: [a]\n", "observed", text))
		r, err := s.writer().Edit(t.Context(), "mem/x", c.old, c.new, memory.SetOptions{})
		var match *MatchError
		switch {
		case c.lines == nil && (err != nil || Body("mem/x", s.texts["mem/x"]) != c.want || r.Hash != client.Hash(s.texts["mem/x"])):
			t.Errorf("%s: %q, %v", name, s.texts["mem/x"], err)
		case c.lines != nil && (!errors.As(err, &match) || match.Count != len(c.lines) || !slices.Equal(match.Lines, c.lines) && len(c.lines) > 0 || s.writes > 0):
			t.Errorf("%s: %v, %d writes", name, err, s.writes)
		}
	}
	s := newShelf("mem/x", strings.Repeat("a", 60_000))
	var match *MatchError
	if _, err := s.writer().Edit(t.Context(), "mem/x", "a", "b", memory.SetOptions{}); !errors.As(err, &match) || len(match.Lines) != maxLines || match.Count != 60_000 {
		t.Errorf("%v", err)
	}
	if _, err := s.writer().Edit(t.Context(), "mem/x", "", "b", memory.SetOptions{}); !errors.Is(err, ErrField) {
		t.Errorf("nothing to be replaced: %v", err)
	}
	if _, err := s.writer().Edit(t.Context(), "mem/missing", "a", "b", memory.SetOptions{}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("no memory: %v", err)
	}
	s = newShelf("mem/x", "all")
	if _, err := s.writer().Edit(t.Context(), "mem/x", "all", "", memory.SetOptions{}); !errors.Is(err, client.ErrEmpty) || s.writes > 0 {
		t.Errorf("all of it: %v", err)
	}
}
