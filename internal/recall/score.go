package recall

import "math/bits"

// scored is what the words of a query give to each section.
type scored struct {
	own   []float64 // BM25 of the section
	mask  []uint64  // which terms it has
	group []float64 // BM25 of its memory or session, by group
	idf   []float64 // by term of the query
}

// words scores the sections of open documents, and groups, by the terms of a query.
func (x *Index) words(a *asked, w Weights) scored {
	terms := a.terms
	s := scored{own: make([]float64, len(x.sections)), mask: make([]uint64, len(x.sections)),
		group: make([]float64, len(x.groups.all)), idf: make([]float64, len(terms))}
	groups := newTally(&x.groups, s.group)
	average := float64(x.liveWords) / float64(max(1, x.live))
	for i, t := range terms {
		if t.id < 0 {
			s.idf[i] = idf(0, x.live)
			continue
		}
		with := 0
		for _, p := range x.posts[t.id] {
			if x.sections[p.section()].doc >= 0 {
				with++
			}
		}
		s.idf[i] = idf(with, x.live)
		for _, p := range x.posts[t.id] {
			at := p.section()
			sec := &x.sections[at]
			if sec.doc < 0 || !a.open[sec.doc] {
				continue
			}
			norm := w.K1 * (1 - w.BSection + w.BSection*float64(sec.words)/average)
			s.own[at] += t.weight * s.idf[i] * p.count() * (w.K1 + 1) / (p.count() + norm)
			s.mask[at] |= 1 << i
			groups.add(x.docs[sec.doc].group, p.count())
		}
		groups.settle(t.weight, w)
	}
	return s
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

// covered is the share of what a query's terms say that a section and its
// neighbours have.
// What is a date was not asked for as a word.
func (x *Index) covered(a *asked, s *scored, at int32) float64 {
	mask := s.mask[at]
	for _, beside := range []int32{x.sections[at].prev, x.sections[at].next} {
		if beside >= 0 {
			mask |= s.mask[beside]
		}
	}
	total, has := 0., 0.
	for i, v := range s.idf {
		if a.terms[i].dated {
			continue
		}
		total += v
		if mask>>i&1 == 1 {
			has += v
		}
	}
	if total == 0 {
		return 0
	}
	return has / total
}

// has returns the words of a query that a section has.
func (a *asked) has(mask uint64) []string {
	var words []string
	for ; mask != 0; mask &= mask - 1 {
		words = append(words, a.terms[bits.TrailingZeros64(mask)].word)
	}
	return words
}
