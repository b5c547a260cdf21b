package write

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// met is a writer whose changes others come before, so many times; paused are the waits.
func (s *shelf) met(times int, theirs func(text string) string) (w *Writer, paused *[]int) {
	paused = new([]int)
	w = s.writer()
	w.Pause = func(_ context.Context, n int) error {
		*paused = append(*paused, n)
		return nil
	}
	s.before = func(slug nipae.Slug) {
		if times--; times >= 0 {
			s.texts[slug] = theirs(s.texts[slug])
		}
	}
	return w, paused
}

func TestChangesAreMadeAgain(t *testing.T) {
	const at = nipae.Slug("mem/x")
	line := func(text string) string { return text + "theirs\n" }
	for name, c := range map[string]struct {
		there string // "" for nothing
		times int
		as    func(w *Writer, o memory.SetOptions) (Result, error)
		want  string // the body
	}{
		"append":              {"old\n", 1, appending, "old\ntheirs\nnew"},
		"append, often":       {"old\n", rebases, appending, "old\n" + strings.Repeat("theirs\n", rebases) + "new"},
		"append to nothing":   {"", 1, appending, "theirs\nnew"},
		"append, alone":       {"old\n", 0, appending, "old\nnew"},
		"edit":                {"old\n", 2, editing, "new\ntheirs\ntheirs\n"},
		"a part of a rewrite": {"old\n", 1, rewriting, "new\ntheirs\n"},
	} {
		s := newShelf()
		if c.there != "" {
			s.texts[at] = c.there
		}
		w, paused := s.met(c.times, line)
		r, err := c.as(w, memory.SetOptions{Later: &memory.Later{}})
		if err != nil || r.Status.Rebased != c.times || len(*paused) != c.times || Body(at, s.texts[at]) != c.want || r.Hash != client.Hash(s.texts[at]) {
			t.Errorf("%s: %v, rebased %d, paused %v: %q", name, err, r.Status.Rebased, *paused, s.texts[at])
		}
	}
}

func appending(w *Writer, o memory.SetOptions) (Result, error) {
	return w.Append(context.Background(), "mem/x", "new", o)
}

func editing(w *Writer, o memory.SetOptions) (Result, error) {
	return w.Edit(context.Background(), "mem/x", "old", "new", o)
}

func rewriting(w *Writer, o memory.SetOptions) (Result, error) {
	o.Later = &memory.Later{Old: "old", New: "new"}
	return w.Rewrite(context.Background(), "mem/x", func(_ client.Entry, body string) (string, string, error) {
		return strings.Replace(body, "old", "new", 1), "new", nil
	}, o)
}

func TestConflictsStay(t *testing.T) {
	line := func(text string) string { return text + "theirs\n" }
	for name, c := range map[string]struct {
		times  int
		theirs func(text string) string
		as     func(w *Writer, o memory.SetOptions) (Result, error)
		base   string
		paused int
	}{
		"a base is given, append": {1, line, appending, client.Hash("old\n"), 0},
		"a base is given, edit":   {1, line, editing, client.Hash("old\n"), 0},
		"others are faster":       {1 << 20, line, appending, "", rebases},
		"the place is gone":       {1, func(string) string { return "theirs" }, editing, "", 1},
		"the place is two":        {1, func(text string) string { return text + text }, editing, "", 1},
		"a line of a file": {1, line, func(w *Writer, o memory.SetOptions) (Result, error) {
			return w.Rewrite(context.Background(), "mem/x", func(_ client.Entry, body string) (string, string, error) { return body + "new", "new", nil }, o)
		}, "", 0},
		"the whole": {1, line, func(w *Writer, o memory.SetOptions) (Result, error) {
			o.Base = client.Hash("old\n")
			return w.Write(context.Background(), "mem/x", Draft{Text: "new"}, o)
		}, "", 0},
	} {
		s := newShelf("mem/x", "old\n")
		w, paused := s.met(c.times, c.theirs)
		_, err := c.as(w, memory.SetOptions{Base: c.base, Later: &memory.Later{}})
		if !errors.Is(err, client.ErrConflict) || len(*paused) != c.paused || s.writes > 0 {
			t.Errorf("%s: %v, paused %v, %d writes: %q", name, err, *paused, s.writes, s.texts["mem/x"])
		}
	}
	// Who has no time left does not go on.
	s := newShelf("mem/x", "old\n")
	w, _ := s.met(1, line)
	w.Pause = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Append(ctx, "mem/x", "new", memory.SetOptions{}); !errors.Is(err, client.ErrConflict) || s.writes > 0 {
		t.Errorf("out of time: %v", err)
	}
	s = newShelf("mem/x", "old\n")
	w, _ = s.met(1, line)
	if _, err := w.Append(ctx, "mem/x", "new", memory.SetOptions{}); !errors.Is(err, client.ErrConflict) || s.writes > 0 {
		t.Errorf("out of time after the pause: %v", err)
	}
	s = newShelf("mem/x", "old\n")
	w, _ = s.met(1, line)
	w.Pause = nil // a random moment
	if r, err := w.Append(t.Context(), "mem/x", "new", memory.SetOptions{}); err != nil || r.Status.Rebased != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is written is judged as it will be, each time.
func TestChangesAreCheckedAgain(t *testing.T) {
	for name, refusal := range map[string]error{"secret": errors.New("secret"), "size": client.ErrTooLarge} {
		s := newShelf("mem/x", "old\n")
		w, _ := s.met(1, func(text string) string { return text + "theirs\n" })
		var seen []string
		_, err := w.Append(t.Context(), "mem/x", "new", memory.SetOptions{Check: func(old, text string) error {
			seen = append(seen, Body("mem/x", text))
			if strings.Contains(text, "theirs") {
				return refusal
			}
			return nil
		}})
		if !errors.Is(err, refusal) || s.writes > 0 || !slices.Equal(seen, []string{"old\ntheirs\nnew"}) {
			t.Errorf("%s: %v, %q", name, err, seen)
		}
	}
	// Words of an external text stay external on what is there by then.
	s := newShelf("mem/x", "old\n")
	w, _ := s.met(1, func(text string) string { return text + "theirs\n" })
	w.Copied = func(text string) (string, bool) { return "mem/page", text == "new" }
	if r, err := w.Append(t.Context(), "mem/x", "new", memory.SetOptions{}); err != nil || r.From != "mem/page" || frontmatter.Parse(r.Text).Trust() != frontmatter.External {
		t.Errorf("%+v, %v", r, err)
	}
}

// remote answers writes as relays do at times; after is what is there by then.
type remote struct {
	*shelf
	status client.Status
	err    error
	after  string
	found  memory.Found
	lost   error // of the look-up
	asked  []string
	sets   int
}

func (m *remote) Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	m.sets++
	if m.sets > 1 { // it is made again, on what is there
		return m.shelf.Set(ctx, slug, text, o)
	}
	if m.after != "" {
		m.texts[slug] = strings.ReplaceAll(m.after, "OURS", text)
		theirs := entry(slug, m.texts[slug])
		m.err = &client.ConflictError{Sent: client.Accepted(m.status.Published) > 0, Theirs: &theirs}
	}
	e := entry(slug, text)
	e.ID = "ours"
	return e, m.status, m.err
}

func (m *remote) Has(_ context.Context, slug nipae.Slug, id string, _ int64) (memory.Found, error) {
	m.asked = append(m.asked, fmt.Sprint(slug, " ", id))
	return m.found, m.lost
}

// What may be stored is looked up, and never sent twice.
func TestNothingIsMadeTwice(t *testing.T) {
	silent := []client.PublishStatus{{URL: "ws://one", Err: client.ErrNoRelay}}
	accepted := []client.PublishStatus{{URL: "ws://one", Accepted: true}}
	duplicate := []client.PublishStatus{{URL: "ws://two", Superseded: true, Err: client.ErrRefused}}
	beside := slices.Concat(silent, duplicate)
	decided := []client.PublishStatus{{URL: "ws://one", Err: &client.ConflictError{}}}
	here := memory.Found{There: true, At: []string{"ws://one"}}
	past, nowhere, unsure := memory.Found{There: true}, memory.Found{Sure: true}, memory.Found{}
	newer := &client.ConflictError{Reason: "a newer version is stored"}
	for name, c := range map[string]struct {
		remote
		stored bool
		asked  int
		sets   int // 0 for 1
		took   int // relays
	}{
		"no answer, and it is there":       {remote{status: client.Status{Published: silent}, err: client.ErrNoRelay, found: here}, true, 1, 0, 1},
		"no answer, and it is not":         {remote{status: client.Status{Published: silent}, err: client.ErrNoRelay, found: nowhere}, false, 1, 0, 0},
		"no answer, and none again":        {remote{status: client.Status{Published: silent}, err: client.ErrNoRelay, lost: client.ErrPartial}, false, 1, 0, 0},
		"nothing was sent":                 {remote{err: client.ErrNoRelay, found: here}, false, 0, 0, 0},
		"not read back, and it is there":   {remote{status: client.Status{Published: accepted}, err: client.ErrUnverified, found: here}, true, 1, 0, 1},
		"another one took it":              {remote{status: client.Status{Published: accepted}, err: &client.ConflictError{Reason: "another relay has another version"}}, false, 0, 0, 1},
		"another was made from it":         {remote{status: client.Status{Published: accepted, Decider: "ws://one"}, after: "OURS\ntheirs"}, true, 0, 0, 1},
		"another came instead":             {remote{status: client.Status{Published: accepted, Decider: "ws://one"}, after: "theirs"}, false, 0, 0, 1},
		"another, which nobody decided":    {remote{status: client.Status{Published: accepted}, after: "OURS\ntheirs"}, false, 0, 0, 1},
		"the clock is wrong":               {remote{err: &client.PoisonedError{}}, false, 0, 0, 0},
		"a relay refuses":                  {remote{err: client.ErrRefused}, false, 0, 0, 0},
		"another, and it was deleted then": {remote{status: client.Status{Published: accepted, Decider: "ws://one"}, after: " "}, false, 0, 0, 1},
		// A relay says that it has a newer version.
		"beside silence, and it is there":       {remote{status: client.Status{Published: beside}, after: "OURS\ntheirs", found: here}, true, 1, 0, 1},
		"beside silence, and it was there":      {remote{status: client.Status{Published: beside}, after: "OURS\ntheirs", found: past}, true, 1, 0, 0},
		"beside silence, it was, and is gone":   {remote{status: client.Status{Published: beside}, after: "theirs", found: past}, false, 1, 0, 0},
		"beside silence, and that is unread":    {remote{status: client.Status{Published: beside}, err: newer, found: past}, false, 1, 0, 0},
		"beside silence, and it is nowhere":     {remote{status: client.Status{Published: beside}, after: "theirs", found: nowhere}, true, 1, 2, 0},
		"beside silence, and no answer":         {remote{status: client.Status{Published: beside}, after: "theirs", lost: client.ErrPartial}, false, 1, 0, 0},
		"sent again, and it was there":          {remote{status: client.Status{Published: duplicate}, after: "OURS\ntheirs", found: past}, true, 1, 0, 0},
		"sent again, and it is nowhere":         {remote{status: client.Status{Published: duplicate}, after: "OURS\ntheirs", found: nowhere}, true, 1, 2, 0},
		"no history, and another holds it":      {remote{status: client.Status{Published: duplicate}, after: "OURS\ntheirs", found: unsure}, false, 1, 0, 0},
		"no history, and another does not":      {remote{status: client.Status{Published: duplicate}, after: "theirs", found: unsure}, true, 1, 2, 0},
		"no history, and the other is unread":   {remote{status: client.Status{Published: duplicate}, err: newer, found: unsure}, false, 1, 0, 0},
		"the memory is busy":                    {remote{err: &client.ConflictError{Busy: true}}, false, 0, 0, 0},
		"a relay decides for another":           {remote{status: client.Status{Published: decided, Decider: "ws://one"}, err: newer}, true, 0, 2, 0},
		"a relay has it, and says to have more": {remote{status: client.Status{Published: duplicate}, after: "OURS", found: here}, true, 1, 0, 0},
	} {
		m := c.remote
		m.shelf = newShelf("mem/x", "new old\n")
		m.status.Published = slices.Clone(m.status.Published)
		w := &Writer{Memory: &m, Pause: func(context.Context, int) error { return nil }}
		r, err := w.Append(t.Context(), "mem/x", "new", memory.SetOptions{})
		if (err == nil) != c.stored || m.sets != max(c.sets, 1) || len(m.asked) != c.asked || c.asked > 0 && m.asked[0] != "mem/x ours" {
			t.Errorf("%s: %v, sent %d times, asked %v", name, err, m.sets, m.asked)
		}
		if client.Accepted(r.Status.Published) != c.took {
			t.Errorf("%s: %+v", name, r.Status)
		}
		if c.after != "" && c.stored && r.Text != m.texts["mem/x"] {
			t.Errorf("%s: it answers with %q", name, r.Text)
		}
		if c.sets == 0 && r.Status.Past != (c.found.There && len(c.found.At) == 0) {
			t.Errorf("%s: in the past: %t", name, r.Status.Past)
		}
		if doubt := strings.HasPrefix(name, "no history") || strings.HasPrefix(name, "beside silence, and no answer"); doubt && err != nil && (!errors.Is(err, client.ErrUnverified) || !errors.Is(err, client.ErrConflict)) {
			t.Errorf("%s: it is not said to be in doubt: %v", name, err)
		}
		if conflict, ok := errors.AsType[*client.ConflictError](err); ok && c.found.There && !conflict.Sent {
			t.Errorf("%s: it is not said that it was sent", name)
		}
	}
}

// Who edits a file does not write twice either.
func TestNothingIsRevisedTwice(t *testing.T) {
	duplicate := []client.PublishStatus{{URL: "ws://two", Superseded: true, Err: client.ErrRefused}}
	for _, c := range []struct {
		found memory.Found
		want  int
	}{{memory.Found{There: true}, 1}, {memory.Found{Sure: true}, 2}, {memory.Found{}, 1}} {
		m := &remote{status: client.Status{Published: slices.Clone(duplicate)}, after: "OURS\nold\n", found: c.found}
		m.shelf = newShelf("mem/x", "old\n")
		_, err := Revise(t.Context(), &Writer{Memory: m}, "mem/x", "old\n", "new\n", memory.SetOptions{})
		if m.sets != c.want || len(m.asked) != 1 || (err == nil) != (c.found.There || c.found.Sure) {
			t.Errorf("%+v: %v, %d writes, asked %v", c.found, err, m.sets, m.asked)
		}
	}
}

// What a person changed in an editor is put into what is there by then.
func TestRevise(t *testing.T) {
	const fields = "---\ntags: [a]\n---\n"
	for name, c := range map[string]struct {
		old, theirs, text string
		want              string // the body; "" for a conflict
	}{
		"nobody wrote":                 {"a\nb\n", "", "a\nc\n", "a\nc\n"},
		"a line":                       {"a\nb\nc\n", "a\nb\nc\nd\n", "a\nB\nc\n", "a\nB\nc\nd\n"},
		"a line at the end":            {"a\n", "0\na\n", "a\nb\n", "0\na\nb\n"},
		"no line end":                  {"a", "a\ntheirs", "a\nb\n", "a\nb\ntheirs"},
		"a line in the middle":         {"a\nb\n", "a\nb\nc\n", "a\nx\nb\n", "a\nx\nb\nc\n"},
		"lines away":                   {"a\nb\nc\n", "a\nb\nc\nd\n", "a\n", "a\nd\n"},
		"a line that stands twice":     {"a\nb\na\nc\n", "a\nb\na\nc\nd\n", "a\nb\nA\nc\n", "a\nb\nA\nc\nd\n"},
		"beneath fields":               {fields + "a\nb\n", fields + "a\nb\nc\n", fields + "a\nB\n", "a\nB\nc\n"},
		"fields":                       {fields + "a\nb\n", fields + "a\nb\nc\n", "---\ntags: [b]\n---\na\nB\n", ""},
		"the same line":                {"a\nb\n", "a\nx\n", "a\ny\n", ""},
		"everywhere":                   {"a\nb\nc\n", "0\nb\nc\n", "A\nb\nC\n", ""},
		"a line among many like it":    {strings.Repeat("a\n", 60_000/2), strings.Repeat("a\n", 60_000/2) + "b\n", "A\n" + strings.Repeat("a\n", 60_000/2-1), ""},
		"the start of a longer line":   {"port 80", "port 8080", "port 81", ""},
		"the end of a longer line":     {"done\n", "not done\n", "finished\n", ""},
		"lines of which one is longer": {"a\nb\n", "xa\nb\n", "A\nB\n", ""},
		"a line beside a longer one":   {"done", "not done\ndone", "finished", "not done\nfinished"},
		"a line that is two by then":   {"a\nb\n", "a\nb\nb\n", "a\nB\n", ""},
		"without the last line end":    {"a\nb\n", "a\nb\nc\n", "a\nB", "a\nB\nc\n"},
		"without the last line":        {"a\nb", "a\nb\nc\n", "a\n", "a\nc\n"},
		"a new memory":                 {"", "theirs\n", "mine\n", ""},
	} {
		s := newShelf()
		if c.old != "" {
			s.texts["mem/x"] = c.old
		}
		w, paused := s.met(map[bool]int{true: 1}[c.theirs != ""], func(string) string { return c.theirs })
		r, err := Revise(t.Context(), w, "mem/x", c.old, c.text, memory.SetOptions{})
		switch {
		case c.want == "" && (!errors.Is(err, client.ErrConflict) || s.texts["mem/x"] != c.theirs):
			t.Errorf("%s: %v, %q", name, err, s.texts["mem/x"])
		case c.want != "" && (err != nil || Body("mem/x", s.texts["mem/x"]) != c.want || (r.Status.Rebased == 1) != (c.theirs != "")):
			t.Errorf("%s: %v, %q, %+v", name, err, s.texts["mem/x"], r.Status)
		}
		if len(*paused) > 0 {
			t.Errorf("%s: %v", name, *paused)
		}
	}
}
