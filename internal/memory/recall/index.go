package recall

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Index is what is searched.
type Index struct {
	inverted
	documents
	// follows is what follows from what is superseded; nil: not known yet.
	follows atomic.Pointer[Truth]
}

// inverted is the inverted index: sections, and in which of them each term stands.
// Sections never move while it grows; what is removed stays as dead until repack.
type inverted struct {
	terms           map[string]int32
	posts           [][]posting // by term; sections ascending
	packed          []packed    // as they were decoded, by term; posts has those that changed since
	packedOf        int         // so many sections the index had then
	sections        []section
	live, liveWords int                 // sections
	langs           [len(languages)]int // how many sections each language has
	// near are the terms as words are compared with them; nil: not known yet.
	near atomic.Pointer[vocabulary]
}

// documents are the memories of an index. They never move while it grows.
type documents struct {
	docs   []document
	bySlug map[string]int32
	groups registry // sessions and memories
	people people
}

// posting is a section and how often it has the term, at most 255.
type posting uint32

const (
	maxCount = 1<<8 - 1
	// maxPlaces is how many sections there can be, dead ones too.
	maxPlaces = 1 << 24
)

// maxBody is the longest body that is taken, in bytes; an engram's has less than
// 64 KiB.
const maxBody = 1 << 20

var (
	// ErrFull is a document for which the index has no place.
	ErrFull = errors.New("the index is full")
	// ErrTooLong is a document with a body of more than 1 MiB.
	ErrTooLong = errors.New("the text is too long for the index")
	// ErrNoSlug is a document without a slug.
	ErrNoSlug = errors.New("a document needs a slug")
)

func (p posting) section() int32 { return int32(p >> 8) }
func (p posting) count() float64 { return float64(p & maxCount) }

type section struct {
	doc        int32 // -1: dead
	words      int32 // how many terms
	prev, next int32 // its neighbours in the group; -1: none
	timely     bool  // has an expression of time
	asks       bool  // is a question
	lang       language
}

// document is a memory as the index keeps it: without its text.
type document struct {
	slug          string
	from, to      int32 // its sections
	group         int32
	when, created int64 // Unix seconds
	typ           frontmatter.Type
	state         frontmatter.State
	trust         frontmatter.Trust
	salience      float32
	emotion       [8]float32
	session       string
	project       string // of the front matter
	tags          []string
	by, tagged    []string // people
	links         []edge
	vectors       []int8
	unsent        bool // not kept in the blob
}

type edge struct {
	target   string
	strength float32
	kind     relation
}

// New returns an empty index.
func New() *Index {
	return &Index{inverted: inverted{terms: map[string]int32{}}, documents: documents{bySlug: map[string]int32{},
		groups: registry{byName: map[string]int32{}}, people: people{map[string]int{}, map[string][]string{}}}}
}

// Len returns how many documents there are, and how many sections they have.
func (x *Index) Len() (documents, sections int) { return len(x.bySlug), x.live }

// Has reports whether there is a document at a slug.
func (x *Index) Has(slug string) bool { _, ok := x.bySlug[slug]; return ok }

// Put takes a document in, in place of the one at its slug. After an error
// nothing has changed.
func (x *Index) Put(d Document) error {
	switch {
	case d.Slug == "":
		return ErrNoSlug
	case len(d.Body)+len(d.Description) > maxBody:
		return ErrTooLong
	}
	parts := sections(d.Body)
	if len(x.sections)+len(parts) > maxPlaces {
		if x.repack(); len(x.sections)+len(parts) > maxPlaces {
			return ErrFull
		}
	}
	x.Remove(d.Slug)
	doc := keep(d)
	doc.from, doc.to = int32(len(x.sections)), int32(len(x.sections)+len(parts))
	// A session's episodes stand side by side; any other memory stands alone.
	doc.group = x.groups.take(groupName(doc))
	id := int32(len(x.docs))
	x.docs = append(x.docs, doc)
	x.bySlug[d.Slug] = id
	x.follows.Store(nil)
	head := spokenWords(naming(d.Slug) + "\n" + d.Description)
	for _, text := range parts {
		words := append(spokenWords(text), head...)
		lang := languageOf(words, text)
		terms, length := lang.terms(words)
		x.add(section{doc: id, words: int32(length), timely: timely(text), asks: strings.HasSuffix(strings.TrimSpace(text), "?"), lang: lang}, terms)
	}
	x.count(id, 1)
	x.arrange(id)
	return nil
}

// keep takes what the index needs of a document, in strings of its own.
func keep(d Document) document {
	doc := document{
		slug: strings.Clone(d.Slug), when: unix(d.When), created: unix(d.Created), typ: d.Type, state: d.State, trust: d.Trust,
		salience: share(d.Salience), unsent: d.Unsent, session: strings.Clone(d.Session), project: strings.Clone(d.Project),
	}
	for i, v := range d.Emotion {
		doc.emotion[i] = share(v)
	}
	for _, tag := range d.Tags {
		if tag = strings.ReplaceAll(tag, "\x00", ""); tag != "" { // which parts them in the blob
			doc.tags = append(doc.tags, strings.Clone(tag))
		}
	}
	if n := len(d.Vectors) / VectorDim; n*VectorDim == len(d.Vectors) {
		doc.vectors = d.Vectors[:min(n, int(maxSections))*VectorDim]
	}
	doc.by, doc.tagged = peopleOf(d)
	for _, l := range d.Links[:min(len(d.Links), maxLinks)] {
		doc.links = append(doc.links, edge{targetOf(l.Target), share(l.Strength), relationOf(l.Relation)})
	}
	return doc
}

// targetOf is the slug that a link names, which may lack mem/.
func targetOf(name string) string {
	if slug, err := nipae.NormalizeSlug(name); err == nil {
		return strings.Clone(string(slug))
	}
	return strings.Clone(name)
}

// share is a number as a share, 0 to 1.
func share(f float64) float32 {
	if !(f > 0) {
		return 0
	}
	return float32(min(f, 1))
}

// unix is a time in seconds; 0 for none.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// groupName is the session of an episode, the slug of another memory: only talks
// are grouped. No slug has a blank.
func groupName(d document) string {
	if d.session != "" && d.typ == frontmatter.Episodic {
		return "session " + d.session
	}
	return d.slug
}

func (x *inverted) add(s section, terms []string) {
	id := posting(len(x.sections)) << 8
	s.prev, s.next = -1, -1
	x.sections = append(x.sections, s)
	for _, t := range terms {
		n, ok := x.terms[t]
		if !ok {
			n = int32(len(x.posts))
			x.terms[strings.Clone(t)] = n
			x.posts = append(x.posts, nil)
		}
		list := x.postings(n)
		if last := len(list) - 1; last >= 0 && list[last]&^maxCount == id {
			if list[last]&maxCount < maxCount {
				list[last]++
			}
			continue
		}
		x.posts[n] = append(list, id|1)
	}
}

// count adds a document to, or takes it off, what is counted over all.
func (x *Index) count(id int32, sign int) {
	doc := &x.docs[id]
	for s := doc.from; s < doc.to; s++ {
		words := sign * int(x.sections[s].words)
		x.live += sign
		x.liveWords += words
		x.langs[x.sections[s].lang] += sign
		x.groups.all[doc.group].words += words
	}
	each := x.people.add
	if sign < 0 {
		each = x.people.remove
	}
	for _, name := range doc.by {
		each(name)
	}
}

// arrange puts a document's sections between those of its group: by time, slug
// and place in the text.
func (x *Index) arrange(id int32) {
	doc := &x.docs[id]
	g := &x.groups.all[doc.group]
	at, _ := slices.BinarySearchFunc(g.sections, doc, func(s int32, d *document) int { return before(&x.docs[x.sections[s].doc], d) })
	own := make([]int32, 0, doc.to-doc.from)
	for s := doc.from; s < doc.to; s++ {
		own = append(own, s)
	}
	g.sections = slices.Insert(g.sections, at, own...)
	for i := max(at, 1); i < min(at+len(own)+1, len(g.sections)); i++ {
		x.join(g.sections[i-1], g.sections[i])
	}
}

func before(a, b *document) int {
	return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.created, b.created), strings.Compare(a.slug, b.slug))
}

func (x *inverted) join(a, b int32) {
	if a >= 0 {
		x.sections[a].next = b
	}
	if b >= 0 {
		x.sections[b].prev = a
	}
}

// Remove takes the document at a slug out, and reports whether there was one.
func (x *Index) Remove(slug string) bool {
	id, ok := x.bySlug[slug]
	if !ok {
		return false
	}
	x.count(id, -1)
	doc := &x.docs[id]
	x.join(x.sections[doc.from].prev, x.sections[doc.to-1].next)
	g := &x.groups.all[doc.group]
	g.sections = slices.DeleteFunc(g.sections, func(s int32) bool { return s >= doc.from && s < doc.to })
	x.groups.drop(doc.group)
	for s := doc.from; s < doc.to; s++ {
		x.sections[s] = section{doc: -1}
	}
	x.docs[id] = document{}
	delete(x.bySlug, slug)
	x.follows.Store(nil)
	if dead := len(x.sections) - x.live; dead > 1024 && dead > x.live/2 {
		x.repack()
	}
	return true
}
