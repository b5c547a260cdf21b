package recall

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// tellFirst is how likely the best memory fits a prompt before it is told, and
	// tellMore the same of a second and third one.
	tellFirst = 0.20
	tellMore  = 0.38
	// MostTold is how many memories a prompt is told.
	MostTold = 3
)

// Told returns what is told at a prompt that asks for nothing: at most MostTold
// memories, those that are the most likely to bear on it first. A long prompt is
// read whole and in windows.
func (x *Index) Told(q Query, w Weights, texts Texts) []Found {
	parts := windows(q.Text)
	if len(parts) > 1 {
		parts = append(parts, q.Text)
	}
	likely, hits := map[int32]float64{}, map[int32]Hit{}
	open := x.open(&q.Filter)
	q.unseen, q.room = map[string][]term{}, &room{}
	var a asked
	var s scored
	for _, part := range parts { // the last is the whole
		q.Text = part
		a = x.readOpen(q, w, open)
		a.terms = x.rare(a.terms, commonTold)
		s = x.words(&a, w)
		all := x.rank(q, w, &a, &s, MostTold)
		for _, h := range all {
			if p := h.likely(all[0].Score); h.bears() && p > likely[h.doc] {
				h.Fit = Strong
				likely[h.doc], hits[h.doc] = p, h
			}
		}
	}
	var told []Hit
	for doc, h := range hits {
		if likely[doc] >= tellFirst {
			told = append(told, h)
		}
	}
	slices.SortFunc(told, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(likely[b.doc], likely[a.doc]), strings.Compare(a.Slug, b.Slug))
	})
	for i := range told {
		if i == MostTold || i > 0 && likely[told[i].doc] < tellMore {
			told = told[:i]
			break
		}
	}
	return x.collapse(x.settle(&a, &s, told), texts)
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
func (x *Index) rare(terms []term, in int) []term {
	if x.live < manySections {
		return terms
	}
	var all []term
	for _, t := range terms {
		with := 0
		for _, v := range t.at {
			with += len(x.posts[v.id])
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
func (h *Hit) bears() bool { return h.own() && (h.signs[signPlain] == 0 || h.Why&ByMeaning != 0) }
