package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// maxIDF is the most that one rare stem says: a number or a typo that stands
// nowhere else says no more than a rare word.
const maxIDF = 4

// Said is how much a document says, by its words alone.
type Said struct {
	Slug string
	// Mass is the sum of what its distinct stems say: min(idf, 4) of each, over
	// documents.
	Mass float64
	// Timely: it has an expression of time. Asks: it is nothing but a question.
	Timely, Asks bool
}

// Said returns how much each document says, in no order.
func (x *Index) Said() []Said {
	mass := make([]float64, len(x.docs))
	last := make([]int32, len(x.docs)) // the term that was counted last, +1
	var with []int32
	for t := range x.posts {
		with = with[:0]
		for _, p := range x.postings(int32(t)) {
			if doc := x.sections[p.section()].doc; doc >= 0 && last[doc] != int32(t)+1 {
				last[doc] = int32(t) + 1
				with = append(with, doc)
			}
		}
		says := min(idf(len(with), len(x.bySlug)), maxIDF)
		for _, doc := range with {
			mass[doc] += says
		}
	}
	all := make([]Said, 0, len(x.bySlug))
	for slug, id := range x.bySlug {
		s := Said{Slug: slug, Mass: mass[id], Asks: true}
		for _, sec := range x.sections[x.docs[id].from:x.docs[id].to] {
			s.Timely = s.Timely || sec.timely
			s.Asks = s.Asks && sec.asks
		}
		all = append(all, s)
	}
	return all
}

const (
	// tellFirst is how likely the best memory fits a prompt before it is told, tellMore
	// the same of a second and third one, and tellAlone of one by a single word.
	tellFirst = 0.18
	tellMore  = 0.27
	tellAlone = 0.38
	// oneTerm is signMatched of a single one.
	oneTerm = math.Ln2
	// MostTold is how many memories a prompt is told.
	MostTold = 3
)

// Parts are the texts that Told asks of a prompt: its windows, and last the whole.
func Parts(text string) []string {
	parts := windows(text)
	if len(parts) > 1 {
		return append(parts, text)
	}
	return []string{text}
}

// Told returns what is told at a prompt that asks for nothing: at most MostTold
// memories, those that are the most likely to bear on it first. A long prompt is
// read whole and in windows.
func (x *Index) Told(q Query, w Weights, texts Texts) []Found {
	s := &search{x: x, q: q, w: w}
	open, parts := x.open(&q.Filter), Parts(q.Text)
	s.q.looked, s.q.room = newLookups(x, open, q, w), &room{}
	told := s.bearing(parts, open)
	first := tellFirst
	if len(parts) > 1 && q.Near != nil { // of many parts one fits by chance
		first = tellMore
	}
	told = slices.DeleteFunc(told, func(b bearing) bool {
		least, h := first, &b.hit
		if h.signs[signExact] > 0 && h.signs[signMatched] <= oneTerm && h.signs[signCovered] < 0.5 && !q.Within.owns(h.Slug) {
			least = tellAlone // one word among many has other meanings, but for what a project is about
		}
		return likely(b.odds) < least
	})
	slices.SortFunc(told, func(a, b bearing) int {
		first := cmp.Compare(b.odds, a.odds)
		if len(parts) == 1 { // in the order of a recall
			first = cmp.Compare(b.hit.Score, a.hit.Score)
		}
		return cmp.Or(first, strings.Compare(a.hit.Slug, b.hit.Slug))
	})
	var hits []Hit
	for i, b := range told {
		if i == MostTold || i > 0 && likely(b.odds) < tellMore {
			break
		}
		b.hit.Fit = Strong
		hits = append(hits, b.hit)
	}
	return collapse(s.settle(hits), texts)
}

// bearing is a hit with the log-odds that it bears on a prompt.
type bearing struct {
	hit  Hit
	odds float64
}

// part ranks by one text of a prompt.
func (s *search) part(text string, open []bool, most int) []Hit {
	s.q.Text, s.units = text, nil
	s.a = read(s.x, s.q, s.w, open)
	s.a.terms = s.x.rare(s.a.terms, commonTold)
	return s.score().rank(most)
}

// bearing judges what a prompt finds that has a reason to be told.
func (s *search) bearing(parts []string, open []bool) (all []bearing) {
	if len(parts) > 1 {
		return s.long(parts, open)
	}
	hits := s.part(parts[0], open, MostTold)
	for _, h := range hits {
		if h.bears() {
			all = append(all, bearing{h, h.odds(hits[0].Score)})
		}
	}
	return all
}

const (
	// From manySections on, words that a large part of them has are passed over: they
	// tell memories apart least, and cost most. commonTold and commonAsked are how
	// many sections there are for each that may have a word, at a prompt and where
	// it was asked.
	manySections = 2000
	commonTold   = 10
	commonAsked  = 5
)

// rare leaves out terms that more than one section in so many has, where others
// remain.
func (x *inverted) rare(terms []term, in int) []term {
	if x.live < manySections {
		return terms
	}
	var all []term
	for _, t := range terms {
		with := 0
		for _, v := range t.at {
			with += x.number(v.id)
		}
		if in*with <= x.live || t.person != "" {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return terms
	}
	return all
}

// bears reports whether a hit has a reason to be told that nothing asked for: more
// than words that everybody uses, or what stands beside it.
func (h *Hit) bears() bool {
	if h.Why&^(ByTime|ByLink|ByBeside) == 0 { // of a date: only where nothing else was said
		return h.Why&ByTime != 0 && h.signs[signTerms] == 0
	}
	return h.signs[signPlain] == 0 || h.Why&ByMeaning != 0
}
