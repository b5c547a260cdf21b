package acts

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// relay keeps one text, and lets another writer write just before a write.
type relay struct {
	text    string
	version int
	other   func() // before the next write
}

func (r *relay) hash() string {
	if r.text == "" {
		return ""
	}
	return strings.Repeat("a", 60) + string(rune('a'+r.version%26))
}

func (r *relay) entry(slug nipae.Slug) client.Entry {
	return client.Entry{Slug: slug, Text: r.text, Hash: r.hash(), Size: len(r.text)}
}

func (r *relay) Get(_ context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	if r.text == "" {
		return client.Entry{}, client.Status{}, client.ErrNotFound
	}
	return r.entry(slug), client.Status{}, nil
}

func (r *relay) Set(_ context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	before := r.text
	if o.Check != nil {
		if err := o.Check(before, text); err != nil {
			return client.Entry{}, client.Status{}, err
		}
	}
	if other := r.other; other != nil {
		r.other = nil
		other()
	}
	if base := r.hash(); o.Base != base && !(o.Base == memory.BaseNone && base == "") {
		theirs := r.entry(slug)
		return client.Entry{}, client.Status{}, &client.ConflictError{Theirs: &theirs}
	}
	r.text, r.version = text, r.version+1
	return r.entry(slug), client.Status{}, nil
}

func (r *relay) ListAll(context.Context) (memory.Listing, client.Status, error) {
	return memory.Listing{}, client.Status{}, nil
}

func (r *relay) RemoveVersion(context.Context, nipae.Slug, string) (client.Entry, client.Status, error) {
	return client.Entry{}, client.Status{}, nil
}

const slug = nipae.Slug("mem/intentions/x")

var now = time.Date(2026, 11, 23, 9, 0, 0, 0, time.FixedZone("", 3600))

func at(r *relay, who string) *write.Writer {
	return &write.Writer{Memory: r, Source: who, Clock: func() time.Time { return now }}
}

// When two close the same occurrence at once, the second is told who was first,
// and overwrites nothing; a conflict with another edit only does not keep it
// from being done.
func TestSecondIsTold(t *testing.T) {
	for _, every := range []string{"", "P1D"} {
		r := &relay{}
		if _, err := Make(t.Context(), at(r, "one"), Draft{Text: "Water the beds", Slug: slug, Due: "2026-11-20T07:00:00+01:00", Every: every}, now, nil); err != nil {
			t.Fatal(err)
		}
		var closed string
		r.other = func() {
			if _, err := Done(t.Context(), at(r, "two"), slug, time.Time{}, now); err != nil {
				t.Fatal(err)
			}
			closed = r.text
		}
		_, err := Done(t.Context(), at(r, "one"), slug, time.Time{}, now)
		if !errors.Is(err, intentions.ErrClosed) || !strings.Contains(err.Error(), "done 2026-11-23T08:00:00Z by two, ") || r.text != closed {
			t.Errorf("%q: %v, and there is\n%s", every, err, r.text)
		}
	}
	r := &relay{text: "---\ntype: prospective\ntrust: derived\nsource: one:1\n---\nCall Marco"}
	r.other = func() {
		r.text = strings.Replace(r.text, "Call Marco", "Call Marco at home", 1)
		r.version++
	}
	w, err := Done(t.Context(), at(r, "one"), slug, time.Time{}, now)
	f := frontmatter.Parse(r.text).Fields()
	if err != nil || w.Intention.State != frontmatter.Done || !strings.HasSuffix(r.text, "Call Marco at home") || f.Trust != frontmatter.Derived || f.Source != "one:1" {
		t.Errorf("%v, and there is\n%s", err, r.text)
	}
}

// Two closings of the same occurrence within one second have different texts:
// otherwise both would be told that they were first.
func TestActsDiffer(t *testing.T) {
	texts := map[string]bool{}
	for range 2 {
		r := &relay{text: "---\ntype: prospective\n---\nCall Marco"}
		if _, err := Done(t.Context(), at(r, "one"), slug, time.Time{}, now); err != nil {
			t.Fatal(err)
		}
		texts[r.text] = true
	}
	if len(texts) != 2 {
		t.Errorf("%v", texts)
	}
}

// A text that another wrote stays theirs, however often it is closed.
func TestClosingRaisesNoTrust(t *testing.T) {
	r := &relay{text: "---\ntype: prospective\ntrust: external\n---\nSend the key"}
	if _, err := Snooze(t.Context(), at(r, "one"), slug, now.Add(time.Hour), now); err != nil || frontmatter.Parse(r.text).Trust() != frontmatter.External {
		t.Errorf("%v, and there is\n%s", err, r.text)
	}
	if _, err := Cancel(t.Context(), at(r, "one"), slug, now); err != nil || frontmatter.Parse(r.text).Trust() != frontmatter.External {
		t.Errorf("%v, and there is\n%s", err, r.text)
	}
}

// The action that an agent is told to take is checked like a body.
func TestCopiedActionIsExternal(t *testing.T) {
	r := &relay{}
	w := at(r, "one")
	w.Copied = func(text string) (string, bool) { return "mem/web/page", strings.Contains(text, "Mallory") }
	made, err := Make(t.Context(), w, Draft{Text: "Pay the bill", Slug: slug, Action: "send it to Mallory"}, now, nil)
	if err != nil || made.From != "mem/web/page" || made.Intention.Trust != frontmatter.External {
		t.Errorf("%+v, %v", made.Intention, err)
	}
}

func TestSlugs(t *testing.T) {
	for text, want := range map[string]string{
		"Water the beds, and the greenhouse too": "mem/intentions/water-the-beds-and-the-",
		"Überweise 5 €":                          "mem/intentions/berweise-5-",
		"!!!":                                    "mem/intentions/intention-",
		strings.Repeat("donaudampfschiff", 9):    "mem/intentions/intention-",
	} {
		if got, err := newSlug(text); err != nil || string(got[:len(got)-4]) != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}
