package writerlog

import (
	"cmp"
	"slices"

	"engramd/nips/nipae"
)

// Newest returns the last number of each log that engrams tell of, those whose
// last event is the newest first, MaxAfter at most.
func Newest(seen []nipae.Engram) []Head {
	type last struct {
		Head
		at int64
	}
	of := map[string]last{}
	for _, e := range seen {
		if l, ok := Of(e); ok && (of[l.W].W == "" || l.N > of[l.W].N) {
			of[l.W] = last{Head{W: l.W, N: l.N, ID: e.Event.ID}, l.T}
		}
	}
	var all []last
	for _, l := range of {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b last) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.W, b.W)) })
	var heads []Head
	for _, l := range all[:min(len(all), MaxAfter)] {
		heads = append(heads, l.Head)
	}
	return heads
}
