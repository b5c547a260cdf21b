package answer

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"engramd/internal/memory/quote"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const (
	maxSnippets = 3
	// around is how much text is shown on each side of a word, in bytes.
	around = 80
)

// Snippet is a part of a text.
type Snippet struct {
	Text   string // on one line, as quote.Line has it, behind "> " if it is somebody else's
	Offset int    // where it begins in the whole text
}

// snippets returns the parts of a text that have most of what was searched for:
// first the one with most of the words, then those with words that it has not.
// Front matter is not shown.
func snippets(d frontmatter.Doc, f recall.Finder) []Snippet {
	body := d.Body()
	before := len(d.Text()) - len(body)
	places := f.Places(body)
	var out []Snippet
	for len(out) < maxSnippets && len(places) > 0 {
		at, has := densest(places)
		text, from := part(body, at)
		out = append(out, Snippet{Text: text, Offset: before + from})
		places = slices.DeleteFunc(places, func(p recall.Place) bool { return slices.Contains(has, p.Term) })
	}
	return out
}

// densest returns the middle of the first stretch of text with most different
// terms, and these.
func densest(places []recall.Place) (middle int, terms []int) {
	for i, p := range places {
		var has []int
		last := p.At
		for _, q := range places[i:] {
			if q.At > p.At+around {
				break
			}
			if !slices.Contains(has, q.Term) {
				has, last = append(has, q.Term), q.At
			}
		}
		if len(has) > len(terms) {
			middle, terms = (p.At+last)/2, has
		}
	}
	return middle, terms
}

// part returns the text around a place on one quoted line, cut between words if
// possible, and where it begins.
func part(text string, middle int) (string, int) {
	for middle > 0 && !utf8.RuneStart(text[middle]) {
		middle--
	}
	start, end := max(0, middle-around), min(len(text), middle+around)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	if start > 0 {
		if i := strings.IndexFunc(text[start:middle], unicode.IsSpace); i >= 0 {
			_, n := utf8.DecodeRuneInString(text[start+i:])
			start += i + n
		}
	}
	if end < len(text) {
		if i := strings.LastIndexFunc(text[middle:end], unicode.IsSpace); i > 0 {
			end = middle + i
		}
	}
	shown := quote.Line(text[start:end])
	if start > 0 {
		shown = "…" + shown
	}
	if end < len(text) {
		shown += "…"
	}
	return shown, start
}

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
	ID        string // of the event; "" where none is known
	Size      int    // in bytes
	UpdatedAt int64
	Unsent    bool // it waits on this machine: no relay has it
}

// State says how far a view may be trusted to be what the relays have.
type State struct {
	AsOf time.Time // when relays were last asked; zero: never
	// Stale: not every relay has confirmed it lately. Unfinished: it was never
	// whole.
	Stale, Unfinished bool
	Unreadable        int // memories whose slugs are unknown
	// Behind counts the memories of which this machine knows newer versions than relays
	// show, where all of them were asked: what it has is what is told. Withheld counts
	// those of them of which nothing is told. BehindAt is when the newest was written,
	// in Unix seconds; 0 is not known.
	Behind, Withheld int
	BehindAt         int64
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
