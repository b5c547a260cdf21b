package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// meaning compares the best by words with the best by vectors, each against the
// mean and the deviation of all that are compared.
func (x *Index) meaning(q Query, w Weights, a *asked, found []best) {
	if q.Near == nil || w.Meaning == 0 {
		return
	}
	near := x.nearest(q, w, a)
	compared := append(x.bestOf(found, fused), x.bestOf(near, fused)...)
	slices.Sort(compared)
	compared = slices.Compact(compared)
	words, cosines := spread(compared, found), spread(compared, near)
	both := make([]best, len(compared))
	for i, id := range compared {
		b, n := found[id], near[id]
		if !b.in {
			b.section = n.section
		}
		if n.in {
			b.cosine, b.why = n.cosine, b.why|ByMeaning
		}
		b.in, b.score = true, words.z(b.score)+w.Meaning*cosines.z(n.score)
		both[i] = b
	}
	clear(found)
	for i, id := range compared {
		found[id] = both[i]
	}
}

// nearest finds the section of each document that is nearest by vectors.
func (x *Index) nearest(q Query, w Weights, a *asked) []best {
	near := make([]best, len(x.docs))
	for id := range x.docs {
		doc := &x.docs[id]
		if !x.may(a, int32(id)) {
			continue
		}
		var b best
		for at := doc.from; at < doc.to; at++ {
			c, ok := q.Near(doc.slug, int(at-doc.from))
			if ok && !math.IsNaN(c) && (!b.in || c > b.cosine) {
				b = best{in: true, section: at, cosine: max(-1, min(c, 1))}
			}
		}
		b.score = b.cosine * factor(q, w, doc)
		near[id] = b
	}
	return near
}

// bestOf returns the documents with the highest scores, best first; equal ones
// by slug, so that the order in which they were put in does not matter.
func (x *Index) bestOf(of []best, most int) []int32 {
	var all []int32
	for id := range of {
		if of[id].in {
			all = append(all, int32(id))
		}
	}
	slices.SortFunc(all, func(a, b int32) int {
		return cmp.Or(cmp.Compare(of[b].score, of[a].score), strings.Compare(x.docs[a].slug, x.docs[b].slug))
	})
	return all[:min(len(all), most)]
}

type spreading struct{ mean, deviation float64 }

// spread is the mean and the deviation of scores; who has none has 0.
func spread(ids []int32, of []best) spreading {
	var sum, squares float64
	for _, id := range ids {
		sum += of[id].score
		squares += of[id].score * of[id].score
	}
	n := float64(max(1, len(ids)))
	mean := sum / n
	return spreading{mean, math.Sqrt(max(0, squares/n-mean*mean))}
}

func (s spreading) z(v float64) float64 {
	if s.deviation == 0 {
		return 0
	}
	return (v - s.mean) / s.deviation
}
