package recall

import (
	"math/bits"
	"slices"
)

// room is where a query is computed, of which parts of one prompt need only one.
type room struct {
	own, group, count, weight []float64
	mask                      []uint64
	found                     []best
	may                       []bool
}

// cleared returns n zero values, in place of those that were there.
func cleared[T any](of *[]T, n int) []T {
	if len(*of) != n {
		*of = make([]T, n)
	} else {
		clear(*of)
	}
	return *of
}

// scored is what the words of a query give to each section.
type scored struct {
	own   []float64 // BM25 of the section
	mask  []uint64  // which terms it has
	group []float64 // BM25 of its memory or session, by group
	idf   []float64 // by term of the query
	// touched are the sections with a term, some more than once.
	touched []int32
}

// score scores the sections of open documents, and groups, by the terms of a query.
func (r *search) score() *search {
	x, a, w, terms := r.x, &r.a, r.w, r.a.terms
	s := scored{own: cleared(&a.room.own, len(x.sections)), mask: cleared(&a.room.mask, len(x.sections)),
		group: cleared(&a.room.group, len(x.groups.all)), idf: make([]float64, len(terms))}
	groups := newTally(&x.groups, s.group)
	average := float64(x.liveWords) / float64(max(1, x.live))
	count, weight := cleared(&a.room.count, len(x.sections)), cleared(&a.room.weight, len(x.sections))
	var with []int32 // sections that have the term
	for i, t := range terms {
		with = with[:0]
		for _, v := range t.at {
			for _, p := range x.postings(v.id) {
				at := p.section()
				if doc := x.sections[at].doc; doc < 0 || !a.open[doc] {
					continue
				}
				if count[at] == 0 {
					with = append(with, at)
				}
				count[at] += p.count()
				weight[at] = max(weight[at], v.weight)
			}
		}
		s.idf[i] = idf(len(with), a.live)
		share := 1.
		if t.person != "" {
			share = w.Name
		} else if t.common {
			share = w.Common
		}
		for _, at := range with {
			sec := &x.sections[at]
			norm := w.K1 * (1 - w.BSection + w.BSection*float64(sec.words)/average)
			s.own[at] += share * weight[at] * s.idf[i] * count[at] * (w.K1 + 1) / (count[at] + norm)
			if s.mask[at] == 0 {
				s.touched = append(s.touched, at)
			}
			s.mask[at] |= 1 << i
			groups.add(x.docs[sec.doc].group, share*count[at])
			count[at], weight[at] = 0, 0
		}
		groups.settle(most(t.at), w)
	}
	r.scored = s
	return r
}

// most is the weight of the nearest of what a term stands for.
func most(at []variant) (weight float64) {
	for _, v := range at {
		weight = max(weight, v.weight)
	}
	return weight
}

// tally counts how often each group has one term.
type tally struct {
	of      *registry
	scores  []float64
	counts  []float64
	touched []int32
	average float64
	groups  int
}

func newTally(r *registry, scores []float64) *tally {
	t := &tally{of: r, scores: scores, counts: make([]float64, len(r.all)), groups: len(r.byName)}
	for i := range r.all {
		t.average += float64(r.all[i].words)
	}
	t.average /= float64(max(1, t.groups))
	return t
}

func (t *tally) add(id int32, n float64) {
	if t.counts[id] == 0 {
		t.touched = append(t.touched, id)
	}
	t.counts[id] += n
}

// settle scores the groups that have the term, and forgets their counts.
func (t *tally) settle(weight float64, w Weights) {
	rare := idf(len(t.touched), t.groups)
	for _, id := range t.touched {
		norm := w.K1 * (1 - w.BGroup + w.BGroup*float64(t.of.all[id].words)/max(t.average, 1))
		t.scores[id] += weight * rare * t.counts[id] * (w.K1 + 1) / (t.counts[id] + norm)
		t.counts[id] = 0
	}
	t.touched = t.touched[:0]
}

// at returns the BM25 of a section, 0 of none.
func (s *scored) at(section int32) float64 {
	if section < 0 {
		return 0
	}
	return s.own[section]
}

// naming marks the terms that are the name of a person.
func (a *asked) naming(who string) (mask uint64) {
	for i, t := range a.terms {
		if t.person == who {
			mask |= 1 << i
		}
	}
	return mask
}

// has returns the words of a query that a section has.
func (a *asked) has(mask uint64) []string {
	var words []string
	for ; mask != 0; mask &= mask - 1 {
		if w := a.terms[bits.TrailingZeros64(mask)].word; !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}
