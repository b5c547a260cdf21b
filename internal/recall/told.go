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
	likely, hits := x.likeliest(q, w, parts)
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
	return x.collapse(told, texts)
}

// likeliest returns how likely memories bear on the best of some parts of a query,
// with the hits by which they do.
func (x *Index) likeliest(q Query, w Weights, parts []string) (likely map[int32]float64, hits map[int32]Hit) {
	likely, hits = map[int32]float64{}, map[int32]Hit{}
	for _, part := range parts {
		q.Text = part
		a := x.read(q, w)
		s := x.words(a.terms, w)
		all := x.rank(q, w, &a, &s, MostTold)
		for _, h := range all {
			p := h.likely(all[0].Score)
			if h.Cosine >= fitsMeaning {
				p = max(p, strong)
			}
			if !h.own() || h.signs[signPlain] == 1 && h.Why&ByMeaning == 0 || p <= likely[h.doc] {
				continue
			}
			h.Fit = Strong
			likely[h.doc], hits[h.doc] = p, h
		}
	}
	return likely, hits
}
