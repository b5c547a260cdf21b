package recall

import (
	"math"
	"slices"
	"time"

	"engramd/nips/frontmatter"
)

// Hit is a document that was found, by its best section.
type Hit struct {
	Slug    string
	Section int // its place in the memory
	Score   float64
	// Covered is the share of what the query's words, persons and dates say that
	// the section has by itself, 0 to 1; Cosine is that of the section, if there
	// are vectors.
	Covered, Cosine float64
	// Fit says how well the memory fits the query.
	Fit   Fit
	Words []string // of the query that the section has
	Why   Reasons
	Type  frontmatter.Type
	Trust frontmatter.Trust
	State frontmatter.State
	When  time.Time
	Standing

	doc, via int32
	compared bool // by vectors
	signs    signs
}

// Reasons say why a document was found.
type Reasons uint8

// The reasons.
const (
	ByWords Reasons = 1 << iota
	ByMeaning
	ByLink
	ByTime
	ByPerson
	// ByBeside is for an episode that lies beside others of its session that match.
	ByBeside
)

// Names returns the reasons in words.
func (r Reasons) Names() []string {
	var all []string
	for i, name := range [...]string{"words", "meaning", "link", "time", "person", "beside"} {
		if r>>i&1 == 1 {
			all = append(all, name)
		}
	}
	return all
}

type best struct {
	score, cosine float64
	section       int32
	mask          uint64 // the terms of the query that it has
	why           Reasons
	via           int32 // the document whose link brought it
	in            bool  // it was found
	compared      bool  // by vectors
}

// Rank returns the documents that the query finds, best first and at most that
// many, whatever the budget and however little they fit.
func (x *Index) Rank(q Query, w Weights, most int) []Hit {
	return x.search(q, w).score().rank(most)
}

// search is one query of an index: as it is understood, and what its words give to
// each section.
type search struct {
	x *Index
	q Query
	w Weights
	a asked
	scored
	units *units // of cosines; nil without vectors
}

func (x *Index) search(q Query, w Weights) *search {
	return &search{x: x, q: q, w: w, a: read(x, q, w, x.open(&q.Filter))}
}

func (s *search) rank(most int) []Hit {
	found, in := s.sectionsOf()
	in = s.meaning(found, in)
	s.lean(found, in)
	in = s.follow(found, in)
	ids := s.x.bestOf(found, in, most)
	hits := make([]Hit, len(ids))
	for i, id := range ids {
		hits[i] = s.hit(id, found[id])
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Why == 0 }) // compared by a model, and no more
}

func (s *search) hit(id int32, b best) Hit {
	doc := &s.x.docs[id]
	h := Hit{Slug: doc.slug, Section: int(b.section - doc.from), Score: b.score, Cosine: b.cosine, Why: b.why, Type: doc.typ,
		Trust: doc.trust, State: doc.state, When: moment(doc.when), Standing: Standing{Unsent: doc.unsent}, doc: id, via: b.via, compared: b.compared, Words: s.a.has(s.mask[b.section])}
	h.signs = s.signsOf(b)
	h.Covered = h.signs[signCovered]
	return h
}

// sectionsOf scores each document that may be found by its best section, and names
// those that are.
func (s *search) sectionsOf() (found []best, in []int32) {
	found = cleared(&s.a.room.found, len(s.x.docs))
	for id, may := range s.reachable() {
		if !may {
			continue
		}
		doc := &s.x.docs[id]
		is := s.a.who != "" && (slices.Contains(doc.by, s.a.who) || slices.Contains(doc.tagged, s.a.who))
		date := 0.
		if s.a.dates != nil && doc.when != 0 {
			date = near(time.Unix(doc.when, 0).UTC(), s.a.dates)
		}
		var b best
		for at := doc.from; at < doc.to; at++ {
			if one := s.section(at, doc, is, date); one.score > b.score {
				b = one
			}
		}
		if b.score > 0 {
			b.score *= s.factor(doc)
			b.in = true
			found[id] = b
			in = append(in, int32(id))
		}
	}
	return found, in
}

// reachable marks the documents that can have a reason to be found: all where a
// person or a date is asked for, else those with a word and those beside them.
func (s *search) reachable() []bool {
	may := cleared(&s.a.room.may, len(s.x.docs))
	add := func(at int32) {
		if at >= 0 {
			may[s.x.sections[at].doc] = true
		}
	}
	for _, at := range s.touched {
		add(at)
		sec := &s.x.sections[at]
		if add(sec.prev); sec.next >= 0 {
			add(sec.next)
			add(s.x.sections[sec.next].next)
		}
	}
	for id := range may {
		may[id] = (may[id] || s.a.who != "" || s.a.dates != nil) && s.may(int32(id))
	}
	return may
}

// may reports whether a document is there and may be found.
func (s *search) may(id int32) bool {
	return s.a.open[id] && (s.a.only == nil || s.a.only[s.x.docs[id].slug])
}

// section is one section before trust and emotion. It is found by a reason of its
// own; an episode also by those beside it.
func (s *search) section(at int32, doc *document, is bool, date float64) best {
	sec := &s.x.sections[at]
	b := best{section: at, mask: s.mask[at]}
	lacks := 1.
	if doc.typ == frontmatter.Episodic {
		lacks = min(1, shortText/float64(max(1, sec.words)))
	}
	beside := lacks * s.beside(sec, doc)
	if b.mask != 0 {
		b.why |= ByWords
	}
	if is {
		b.score += s.w.Who
		b.why |= ByPerson
		b.mask |= s.a.naming(s.a.who)
	}
	if date > 0 {
		b.score += s.w.Date * date
		b.why |= ByTime
	}
	if b.why == 0 && beside > 0 && doc.typ == frontmatter.Episodic {
		b.why = ByBeside
	}
	if b.why == 0 {
		return best{}
	}
	b.score += s.own[at] + beside
	if doc.typ == frontmatter.Episodic {
		b.score += lacks * s.w.Group * s.group[doc.group]
	} else { // a fact stands by itself, and no lower than a line of a talk
		b.score += s.w.Group * s.own[at]
	}
	if s.a.time && sec.timely {
		b.score += s.w.Timely
	}
	if sec.asks && sec.words <= mostAsking {
		b.score -= min(s.w.Asked, b.score/2) // it stays found in a small memory, where scores are low
	}
	return b
}

// mostAsking is how many terms a section has that does nothing but ask.
const mostAsking = 14

// shortText is how many terms a line of a talk may have to get all that lies beside
// it and its session have: a longer one lacks less.
const shortText = 40.

// beside is what the neighbours of a section give it. Most it has of the one
// before, above all where another person asks there what it answers.
func (s *search) beside(sec *section, doc *document) float64 {
	score := s.w.Next * s.at(sec.next)
	if sec.prev < 0 {
		return score
	}
	prev := &s.x.sections[sec.prev]
	score += s.w.Earlier * s.at(prev.prev)
	if prev.asks && prev.words <= mostAsking && !slices.Equal(s.x.docs[prev.doc].by, doc.by) {
		return score + s.w.Answer*s.at(sec.prev)
	}
	return score + s.w.Previous*s.at(sec.prev)
}

// factor is by how much trust and emotion change a score.
func (s *search) factor(d *document) float64 {
	f := 1.
	switch d.trust {
	case frontmatter.Derived:
		f = s.w.Derived
	case frontmatter.External:
		f = s.w.External
	}
	if cosine(s.q.Emotion, d.emotion) > resonance {
		f *= s.w.Emotion
	}
	return f
}

func cosine(a [8]float64, e [8]float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		b := float64(e[i])
		dot, aa, bb = dot+a[i]*b, aa+a[i]*a[i], bb+b*b
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
