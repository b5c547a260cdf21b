package recall

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// tellFirst is how likely the best memory fits a prompt before it is told, and
	// tellMore the same of a second and third one.
	tellFirst = 0.38
	tellMore  = 0.55
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
	var a asked
	var s scored
	for _, part := range parts { // the last is the whole
		q.Text = part
		a = x.readOpen(q, w, open)
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

// bears reports whether a hit has a reason to be told that nothing asked for: more
// than words that everybody uses, or what stands beside it.
func (h *Hit) bears() bool { return h.own() && (h.signs[signPlain] == 0 || h.Why&ByMeaning != 0) }
