package recall

import (
	"slices"
	"strings"
	"time"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
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

// Document is a memory as the index takes it.
type Document struct {
	Slug        string
	Description string
	Body        string
	Type        frontmatter.Type
	State       frontmatter.State
	Trust       frontmatter.Trust
	Tags, Who   []string
	Session     string
	Project     string    // of the front matter; "" for none: then the slug says it, if anything does
	When        time.Time // of the event, else when it was written
	Created     time.Time
	Salience    float64
	Emotion     [8]float64
	Links       []frontmatter.Relation
	Unsent      bool // it waits on this machine: see Standing
	// Vectors are those of its sections, one behind the other, VectorDim numbers each; of
	// the first sections only where it has many.
	Vectors []int8
}

// VectorDim is how many numbers a vector has that the index keeps.
const VectorDim = 256

// Vector is that of a section, by the memory's slug and its place there; false without.
func (x *Index) Vector(slug string, section int) ([]int8, bool) {
	id, ok := x.bySlug[slug]
	if !ok || section < 0 || (section+1)*VectorDim > len(x.docs[id].vectors) {
		return nil, false
	}
	return x.docs[id].vectors[section*VectorDim:][:VectorDim], true
}

// VectorsIn are those of the first section of each document that has some, in no order
// that means anything.
func VectorsIn(x *Index) (all [][]int8) {
	for i := range x.docs {
		if v := x.docs[i].vectors; len(v) >= VectorDim {
			all = append(all, v[:VectorDim])
		}
	}
	return all
}

// maxLinks is how many edges of a unit are followed; a text may hold thousands.
const maxLinks = 64

// Of makes a document of a unit at a slug, whose event is of that time.
func Of(slug string, d frontmatter.Doc, written time.Time) Document {
	f := d.Fields()
	doc := Document{
		Slug: slug, Description: f.Description, Body: d.Body(), Type: f.Type, State: f.State, Trust: f.Trust,
		Tags: f.Tags, Who: f.Who, Session: f.Session, Project: projectOf(f.Project), Created: written, Salience: f.Salience, Emotion: f.Emotion,
	}
	if doc.Description == "" {
		doc.Description = f.Title
	}
	if len(f.WhenDoing) > 0 {
		doc.Description = strings.TrimPrefix(doc.Description+"\n"+strings.Join(f.WhenDoing, "\n"), "\n")
	}
	if !f.Created.IsZero() {
		doc.Created = f.Created.Time
	}
	if doc.When = f.When.Time; f.When.IsZero() {
		doc.When = doc.Created
	}
	links := d.Links()
	doc.Links = links[:min(len(links), maxLinks)]
	return doc
}

// naming is what a slug says in words: its parts, without those that begin with
// a digit, which count or date.
func naming(slug string) string {
	if nipae.Slug(slug).IsCore() {
		return slug
	}
	var words []string
	for part := range strings.SplitSeq(strings.TrimPrefix(slug, "mem/"), "/") {
		for _, w := range strings.FieldsFunc(part, func(r rune) bool { return r == '-' || r == '_' }) {
			if w[0] < '0' || w[0] > '9' {
				words = append(words, w)
			}
		}
	}
	return strings.Join(words, " ")
}
