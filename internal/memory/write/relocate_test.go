package write

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// breaking is a memory that takes that many writes, and then none.
type breaking struct {
	*shelf
	left int
}

func (b *breaking) Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	if b.left--; b.left < 0 {
		return client.Entry{}, client.Status{}, errDown
	}
	return b.shelf.Set(ctx, slug, text, o)
}

func (b *breaking) RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error) {
	if b.left--; b.left < 0 {
		return client.Entry{}, client.Status{}, errDown
	}
	return b.shelf.RemoveVersion(ctx, slug, base)
}

// relocated gives all below mem/old another place.
func relocated(from, to string) Relocation {
	return Relocation{
		To: func(slug string) (string, bool) {
			rest, ok := strings.CutPrefix(slug, "mem/"+from)
			return "mem/" + to + rest, ok && (rest == "" || rest[0] == '/')
		},
		Named: func(_ nipae.Slug, name string) (string, bool) { return to, name == from },
	}
}

func relocationShelf() *shelf {
	return newShelf("core", "See [[mem/old/db]] and [[mem/older]].", "mem/old", stampedText("tags: [t]\n", "external", "It is [[mem/old/db]].\n"), "mem/old/db", "One file.",
		"mem/a", "---\nsupports: [\"mem/old/db 0.5\", mem/older]\nwho: [mem/old]\n---\nx [[mem/old/gone]]", "mem/b", "---\nwhere: old\n---\n[[mem/b]]",
		"mem/old/due", "---\nwhere: old\nproject: old\n---\nTidy up", "mem/broken", "---\nwho: {a: mem/old}\n---\n[[mem/other]]", "mem/proposals/1", "[[mem/old]]")
}

// TestRelocate: whichever write is the last one, nothing is lost, and the same call
// does the rest; and what was done is taken back the same way.
func TestRelocate(t *testing.T) {
	whole := relocationShelf()
	var moved, named []nipae.Slug
	r := relocated("old", "new/er")
	r.Planned = func(m, n []nipae.Slug) error { moved, named = m, n; return nil }
	out, err := whole.writer().Relocate(t.Context(), r)
	if err != nil || len(out.Moved) != 3 || !slices.Equal(out.Mended, []nipae.Slug{"core", "mem/a", "mem/b"}) || len(out.Unmended) != 1 || out.Unmended[0].Slug != "mem/proposals/1" {
		t.Fatalf("%+v, %v", out, err)
	}
	if !slices.Equal(moved, []nipae.Slug{"mem/old", "mem/old/db", "mem/old/due"}) || !slices.Equal(named, []nipae.Slug{"mem/b", "mem/new/er/due"}) {
		t.Errorf("planned %v and %v", moved, named)
	}
	whole.is(t, "core", "See [[mem/new/er/db]] and [[mem/older]].")
	whole.is(t, "mem/new/er", stampedText("tags: [t]\n", "external", "It is [[mem/new/er/db]].\n"))
	if a := whole.texts["mem/a"]; !hasLine(a, "supports: [mem/new/er/db 0.5, mem/older]") || !hasLine(a, "who: [mem/new/er]") || !strings.Contains(a, "[[mem/new/er/gone]]") {
		t.Errorf("%s", a)
	}
	if due := whole.texts["mem/new/er/due"]; !hasLine(due, "where: new/er") || !hasLine(due, "project: new/er") {
		t.Errorf("%s", due)
	}
	writes := 0
	for left := range 100 {
		s := &breaking{relocationShelf(), left}
		w := s.writer()
		w.Memory = s
		_, err := w.Relocate(t.Context(), relocated("old", "new/er"))
		for slug, text := range relocationShelf().texts {
			to, moves := relocated("old", "new/er").To(string(slug))
			if s.texts[slug] == "" && (!moves || s.texts[nipae.Slug(to)] == "") {
				t.Errorf("after %d writes %s is lost: %q", left, slug, text)
			}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, errDown) {
			t.Fatal(err)
		}
		writes++
		if _, err := s.shelf.writer().Relocate(t.Context(), relocated("old", "new/er")); err != nil || !maps.Equal(s.texts, whole.texts) {
			t.Errorf("after %d writes, and again: %v\n%q\nwant\n%q", left, err, s.texts, whole.texts)
		}
	}
	if writes != 9 {
		t.Errorf("%d writes", writes)
	}
	if _, err := whole.writer().Relocate(t.Context(), relocated("new/er", "old")); err != nil {
		t.Fatal(err)
	}
	for slug, text := range relocationShelf().texts {
		if got := whole.texts[slug]; body(got) != body(text) {
			t.Errorf("taken back %s is %q, want %q", slug, got, text)
		}
	}
}

// body is what stands behind the front matter.
func body(text string) string {
	_, body, ok := strings.Cut(text, "\n---\n")
	if !ok {
		return text
	}
	return body
}

// TestRelocateRefuses: where something else is, or what is to be done cannot be
// kept, nothing is written.
func TestRelocateRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*shelf, *Relocation)
		want   error
		at     nipae.Slug
	}{
		"something else is there": {func(s *shelf, _ *Relocation) { s.texts["mem/new/er/db"] = "Several." }, ErrTaken, "mem/new/er/db"},
		"the slug is too long": {func(s *shelf, r *Relocation) {
			to := r.To
			r.To = func(slug string) (string, bool) { at, ok := to(slug); return at + strings.Repeat("/x", 130), ok }
		}, ErrField, "mem/old"},
		"it cannot be kept": {func(_ *shelf, r *Relocation) { r.Planned = func(_, _ []nipae.Slug) error { return errDown } }, errDown, ""},
	} {
		s, r := relocationShelf(), relocated("old", "new/er")
		c.change(s, &r)
		_, err := s.writer().Relocate(t.Context(), r)
		var at *AbsentError
		if !errors.Is(err, c.want) || s.writes > 0 || c.at != "" && (!errors.As(err, &at) || at.Slug != c.at) {
			t.Errorf("%s: %v, %d writes", name, err, s.writes)
		}
	}
}

// TestRelocateShortForms: relations that lack mem/ follow, and keys that name a project
// by its slug; each keeps the form that it had.
func TestRelocateShortForms(t *testing.T) {
	s := newShelf("mem/projects/old/ci", "A runner.", "mem/a", "---\nderived_from: projects/old/ci\nsupports: [\"[[projects/old/ci]] 0.5\", projects/older]\nwho: [projects/old]\nproject: mem/projects/old\nwhere: old/\n---\nx",
		"mem/b", "---\nproject: projects/old\nwhere: mem/projects/older\n---\nx")
	for _, way := range [][2]string{{"old", "x-org/pro"}, {"x-org/pro", "old"}} {
		r := relocated("projects/"+way[0], "projects/"+way[1])
		r.Named = func(_ nipae.Slug, name string) (string, bool) { return way[1], name == way[0] }
		if out, err := s.writer().Relocate(t.Context(), r); err != nil || !slices.Equal(out.Mended, []nipae.Slug{"mem/a"}) {
			t.Fatalf("%+v, %v", out, err)
		}
		for _, line := range []string{"derived_from: [projects/%/ci]", "where: %/", "project: mem/projects/%", "who: [projects/old]"} {
			if line = strings.ReplaceAll(line, "%", way[1]); !hasLine(s.texts["mem/a"], line) {
				t.Errorf("no line %s:\n%s", line, s.texts["mem/a"])
			}
		}
		if !strings.Contains(s.texts["mem/a"], "[[projects/"+way[1]+"/ci]] 0.5") || !strings.Contains(s.texts["mem/a"], "projects/older") {
			t.Errorf("%s", s.texts["mem/a"])
		}
	}
}

// withheld is a memory of which a text is known and not here, and in which no relay
// answers.
type withheld struct {
	*shelf
	status client.Status
}

func (w withheld) Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	e, _, err := w.shelf.Get(ctx, slug)
	return e, w.status, err
}

func (w withheld) ListAll(ctx context.Context) (memory.Listing, client.Status, error) {
	l, _, err := w.shelf.ListAll(ctx)
	return l, w.status, err
}

// TestMovedBlindly: nothing is moved of what is not seen, and nothing upon what only this
// machine says is there.
func TestMovedBlindly(t *testing.T) {
	s := relocationShelf()
	w := s.writer()
	w.Memory = withheld{s, client.Status{Behind: 1, Withheld: 1}}
	if out, err := w.Relocate(t.Context(), relocated("old", "new")); !errors.Is(err, client.ErrBehind) || s.writes > 0 {
		t.Errorf("%+v, %v, %d writes", out, err, s.writes)
	}
	if out, err := w.Rename(t.Context(), "mem/a", "mem/z", true, nil); err != nil || !errors.Is(out.MendErr, client.ErrBehind) {
		t.Errorf("%+v, %v", out, err)
	}
	s.texts["mem/y"], s.writes = s.texts["mem/b"], 0
	w.Memory = withheld{s, client.Status{Stale: true, Partial: true}}
	if out, err := w.Rename(t.Context(), "mem/b", "mem/y", false, nil); !errors.Is(err, client.ErrNoRelay) || s.writes > 0 {
		t.Errorf("%+v, %v, %d writes", out, err, s.writes)
	}
}
