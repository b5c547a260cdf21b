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

// best is the best section of a document.
type best struct {
	score, cosine float64
	section       int32
	mask          uint64 // the terms of the query that it has
	why           Reasons
	via           int32 // the document whose link brought it
	in            bool  // it was found
}

// Rank returns the documents that the query finds, best first and at most that
// many, whatever the budget and however little they fit.
func (x *Index) Rank(q Query, w Weights, most int) []Hit {
	a := x.read(q, w)
	s := x.words(&a, w)
	return x.rank(q, w, &a, &s, most)
}

func (x *Index) rank(q Query, w Weights, a *asked, s *scored, most int) []Hit {
	found, in := x.sectionsOf(q, w, a, s)
	in = x.meaning(q, w, a, found, in)
	x.lean(q, w, found, in)
	in = x.follow(q, w, a, found, in)
	ids := x.bestOf(found, in, most)
	hits := make([]Hit, len(ids))
	for i, id := range ids {
		hits[i] = x.hit(id, found[id], a, s)
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Why == 0 }) // compared by a model, and no more
}

func (x *Index) hit(id int32, b best, a *asked, s *scored) Hit {
	doc := &x.docs[id]
	h := Hit{Slug: doc.slug, Section: int(b.section - doc.from), Score: b.score, Cosine: b.cosine, Why: b.why, Type: doc.typ,
		Trust: doc.trust, State: doc.state, When: moment(doc.when), doc: id, via: b.via, Words: a.has(s.mask[b.section])}
	h.signs = x.signsOf(b, a, s)
	h.Covered = h.signs[signCovered]
	return h
}

// sectionsOf scores each document that may be found by its best section, and names
// those that are.
func (x *Index) sectionsOf(q Query, w Weights, a *asked, s *scored) (found []best, in []int32) {
	found = cleared(&a.room.found, len(x.docs))
	for id, may := range x.reachable(a, s) {
		if !may {
			continue
		}
		doc := &x.docs[id]
		is := a.who != "" && (slices.Contains(doc.by, a.who) || slices.Contains(doc.tagged, a.who))
		date := 0.
		if a.dates != nil && doc.when != 0 {
			date = near(time.Unix(doc.when, 0).UTC(), a.dates)
		}
		var b best
		for at := doc.from; at < doc.to; at++ {
			if one := x.section(at, doc, w, a, s, is, date); one.score > b.score {
				b = one
			}
		}
		if b.score > 0 {
			b.score *= factor(q, w, doc)
			b.in = true
			found[id] = b
			in = append(in, int32(id))
		}
	}
	return found, in
}

// reachable marks the documents that can have a reason to be found: all where a
// person or a date is asked for, else those with a word and those beside them.
func (x *Index) reachable(a *asked, s *scored) []bool {
	may := cleared(&a.room.may, len(x.docs))
	add := func(at int32) {
		if at >= 0 {
			may[x.sections[at].doc] = true
		}
	}
	for _, at := range s.touched {
		add(at)
		sec := &x.sections[at]
		if add(sec.prev); sec.next >= 0 {
			add(sec.next)
			add(x.sections[sec.next].next)
		}
	}
	for id := range may {
		may[id] = (may[id] || a.who != "" || a.dates != nil) && x.may(a, int32(id))
	}
	return may
}

// may reports whether a document is there and may be found.
func (x *Index) may(a *asked, id int32) bool {
	return a.open[id] && (a.only == nil || a.only[x.docs[id].slug])
}

// section is one section before trust and emotion. It is found by a reason of its
// own; an episode also by those beside it.
func (x *Index) section(at int32, doc *document, w Weights, a *asked, s *scored, is bool, date float64) best {
	sec := &x.sections[at]
	b := best{section: at, mask: s.mask[at]}
	lacks := 1.
	if doc.typ == frontmatter.Episodic {
		lacks = min(1, shortText/float64(max(1, sec.words)))
	}
	beside := lacks * x.beside(sec, doc, w, s)
	if b.mask != 0 {
		b.why |= ByWords
	}
	if is {
		b.score += w.Who
		b.why |= ByPerson
		b.mask |= a.naming(a.who)
	}
	if date > 0 {
		b.score += w.Date * date
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
		b.score += lacks * w.Group * s.group[doc.group]
	} else { // a fact stands by itself, and no lower than a line of a talk
		b.score += w.Group * s.own[at]
	}
	if a.time && sec.timely {
		b.score += w.Timely
	}
	if sec.asks && sec.words <= mostAsking {
		b.score -= min(w.Asked, b.score/2) // it stays found in a small memory, where scores are low
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
func (x *Index) beside(sec *section, doc *document, w Weights, s *scored) float64 {
	score := w.Next * s.at(sec.next)
	if sec.prev < 0 {
		return score
	}
	prev := &x.sections[sec.prev]
	score += w.Earlier * s.at(prev.prev)
	if prev.asks && prev.words <= mostAsking && !slices.Equal(x.docs[prev.doc].by, doc.by) {
		return score + w.Answer*s.at(sec.prev)
	}
	return score + w.Previous*s.at(sec.prev)
}

// factor is by how much trust and emotion change a score.
func factor(q Query, w Weights, d *document) float64 {
	f := 1.
	switch d.trust {
	case frontmatter.Derived:
		f = w.Derived
	case frontmatter.External:
		f = w.External
	}
	if cosine(q.Emotion, d.emotion) > resonance {
		f *= w.Emotion
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
