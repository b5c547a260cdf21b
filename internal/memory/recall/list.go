package recall

import (
	"slices"
	"time"

	"engramd/nips/frontmatter"
)

// Listed is what the index knows of a document without its text.
type Listed struct {
	Slug  string
	Type  frontmatter.Type
	State frontmatter.State
	Trust frontmatter.Trust
	When  time.Time
}

// Matching returns the documents that a filter allows, in no order.
func (x *Index) Matching(f Filter) []Listed {
	var all []Listed
	for _, id := range x.bySlug {
		if d := &x.docs[id]; f.allows(d) {
			all = append(all, Listed{Slug: d.slug, Type: d.typ, State: d.state, Trust: d.trust, When: moment(d.when)})
		}
	}
	return all
}

// Count returns how many documents a filter allows.
func (x *Index) Count(f Filter) int {
	n := 0
	for _, id := range x.bySlug {
		if f.allows(&x.docs[id]) {
			n++
		}
	}
	return n
}

// moment is the time of Unix seconds; 0 is none.
func moment(unix int64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

// Words is how many words a text has; in scripts without blanks, how many characters
// that follow another.
func Words(text string) int { return countWords(text) }

// Terms returns the terms by which a text is compared, each once and in order, as
// the index has them: without stop words, stemmed and folded.
func Terms(text string) []string {
	all := termsOf(text)
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(t string) bool {
		if seen[t] {
			return true
		}
		seen[t] = true
		return false
	})
}

// IDF is how much a term says here: the less, the more sections have it.
func (x *Index) IDF(term string) float64 { return idf(x.having(term), x.live) }
