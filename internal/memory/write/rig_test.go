package write

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// shelf is a memory in a map. before, where it is set, is called as a write
// begins.
type shelf struct {
	texts  map[nipae.Slug]string
	writes int
	before func(slug nipae.Slug)
	fails  map[nipae.Slug]error // writes there
}

func newShelf(pairs ...string) *shelf {
	s := &shelf{texts: map[nipae.Slug]string{}, fails: map[nipae.Slug]error{}}
	for i := 0; i < len(pairs); i += 2 {
		s.texts[nipae.Slug(pairs[i])] = pairs[i+1]
	}
	return s
}

func entry(slug nipae.Slug, text string) client.Entry {
	return client.Entry{Slug: slug, Text: text, Size: len(text), Hash: client.Hash(text), ID: "id", CreatedAt: 1_790_000_000}
}

func (s *shelf) Get(_ context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	text, ok := s.texts[slug]
	if !ok {
		return client.Entry{}, client.Status{}, client.ErrNotFound
	}
	return entry(slug, text), client.Status{}, nil
}

func (s *shelf) ListAll(context.Context) (l memory.Listing, _ client.Status, _ error) {
	for slug, text := range s.texts {
		e := entry(slug, text)
		if slug.IsCore() {
			l.Core = &e
		} else {
			l.Memories = append(l.Memories, e)
		}
	}
	slices.SortFunc(l.Memories, func(a, b client.Entry) int { return strings.Compare(string(a.Slug), string(b.Slug)) })
	return l, client.Status{}, nil
}

func (s *shelf) Set(_ context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	if s.before != nil {
		s.before(slug)
	}
	if err := s.fails[slug]; err != nil {
		return client.Entry{}, client.Status{}, err
	}
	now, ok := s.texts[slug]
	if o.Base != "" && (o.Base == memory.BaseNone) == ok || o.Base != "" && ok && o.Base != client.Hash(now) {
		return client.Entry{}, client.Status{}, &client.ConflictError{Reason: "another text"}
	}
	if o.Check != nil {
		if err := o.Check(now, text); err != nil {
			return client.Entry{}, client.Status{}, err
		}
	}
	s.texts[slug] = text
	s.writes++
	return entry(slug, text), client.Status{}, nil
}

func (s *shelf) RemoveVersion(_ context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error) {
	if s.before != nil {
		s.before(slug)
	}
	if err := s.fails[slug]; err != nil {
		return client.Entry{}, client.Status{}, err
	}
	if client.Hash(s.texts[slug]) != base {
		return client.Entry{}, client.Status{}, &client.ConflictError{Reason: "another text"}
	}
	delete(s.texts, slug)
	return entry(slug, ""), client.Status{}, nil
}

var now = time.Date(2026, 11, 22, 6, 2, 44, 0, time.UTC)

func (s *shelf) writer() *Writer {
	return &Writer{Memory: s, Source: "tool:1", Session: "s9", Clock: func() time.Time { return now }}
}

// is fails unless the memory's text is that.
func (s *shelf) is(t *testing.T, slug nipae.Slug, want string) {
	t.Helper()
	if got := s.texts[slug]; got != want {
		t.Errorf("%s is %q, want %q", slug, got, want)
	}
}

// stampedText is a text with the fields that the tests' writer sets.
func stampedText(fields, trust, body string) string {
	return "---\n" + fields + "session: s9\ncreated: 2026-11-22T06:02:44Z\nsource: \"tool:1\"\ntrust: " + trust + "\n---\n" + body
}

func trustOf(text string) frontmatter.Trust { return frontmatter.Parse(text).Trust() }
