package answer

import (
	"context"
	"time"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// Source is what is asked.
type Source interface {
	// Read calls do with a view that does not change meanwhile, and returns its
	// error. The view is good until do returns.
	Read(ctx context.Context, do func(View) error) error
}

// View is a memory at one moment. Any number of goroutines may read one.
type View interface {
	// Index holds what has a text and can be read.
	Index() *recall.Index
	// Text returns the whole text at a slug.
	Text(slug string) (string, bool)
	// Head returns what is known of the text at a slug.
	Head(slug string) (Head, bool)
	// Heads returns all of them: the core first, then by slug.
	Heads() []Head
	// Under returns those whose slug begins with a prefix, by slug.
	Under(prefix string) []Head
	State() State
}

// Head is a text without its words.
type Head struct {
	Slug      string
	Size      int // in bytes
	UpdatedAt int64
}

// State says how far a view may be trusted to be what the relays have.
type State struct {
	AsOf time.Time // when relays were last asked; zero: never
	// Stale: not every relay has confirmed it lately. Unfinished: it was never
	// whole.
	Stale, Unfinished bool
	Unreadable        int // memories whose slugs are unknown
}

// Partial reports whether an answer may lack something: always if the view was
// never whole, and if it is stale and nothing was found.
func (s State) Partial(found int) bool { return s.Unfinished || s.Stale && found == 0 }

// Reserved reports whether a slug belongs to machines: ordinary answers leave it
// out.
func Reserved(slug string) bool { return write.Reserved(nipae.Slug(slug)) }

// texts leaves out what is reserved, and reads each text once.
func texts(v View) recall.Texts {
	read := map[string]string{}
	return func(slug string) (string, bool) {
		if text, ok := read[slug]; ok {
			return text, true
		}
		if Reserved(slug) {
			return "", false
		}
		text, ok := v.Text(slug)
		if ok {
			read[slug] = text
		}
		return text, ok
	}
}
