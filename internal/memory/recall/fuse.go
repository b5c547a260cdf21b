package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// outstanding is by how many deviations a cosine is above the mean of those that are
// compared to be a reason by itself: models differ in what a cosine says.
const outstanding = 1.5

// meaning compares the best by words with the best by vectors, each against the
// mean and the deviation of all that are compared.
func (s *search) meaning(found []best, in []int32) []int32 {
	if s.q.Near == nil || s.w.Meaning == 0 {
		return in
	}
	near, open := s.nearest()
	compared := append(s.x.bestOf(found, in, fused), s.x.bestOf(near, open, fused)...)
	slices.Sort(compared)
	compared = slices.Compact(compared)
	words, cosines := spread(compared, found), spread(compared, near)
	both := make([]best, len(compared))
	furthest := 0.9 * math.Sqrt(float64(len(compared)-1)) // no deviation is larger among so few
	for i, id := range compared {
		b, n := found[id], near[id]
		if !b.in {
			b.section = n.section
		}
		if b.cosine = n.cosine; n.in && (n.cosine >= fitsMeaning || cosines.z(n.score) >= min(outstanding, furthest)) {
			b.why |= ByMeaning
		}
		b.in, b.score = true, words.z(b.score)+s.w.Meaning*cosines.z(n.score)
		both[i] = b
	}
	clear(found)
	for i, id := range compared {
		found[id] = both[i]
	}
	return compared
}

// nearest finds the section of each document that is nearest by vectors.
func (s *search) nearest() (near []best, in []int32) {
	near = make([]best, len(s.x.docs))
	for id := range s.x.docs {
		doc := &s.x.docs[id]
		if !s.may(int32(id)) {
			continue
		}
		var b best
		for at := doc.from; at < doc.to; at++ {
			c, ok := s.q.Near(doc.slug, int(at-doc.from))
			if ok && !math.IsNaN(c) && (!b.in || c > b.cosine) {
				b = best{in: true, section: at, cosine: max(-1, min(c, 1))}
			}
		}
		b.score = b.cosine * s.factor(doc)
		if near[id] = b; b.in {
			in = append(in, int32(id))
		}
	}
	return near, in
}

// bestOf returns the documents with the highest scores, best first; equal ones
// by slug, so that the order in which they were put in does not matter.
func (x *documents) bestOf(of []best, in []int32, most int) []int32 {
	all := make([]int32, 0, min(len(in), 4*most))
	cut := func() {
		slices.SortFunc(all, func(a, b int32) int {
			if c := cmp.Compare(of[b].score, of[a].score); c != 0 {
				return c
			}
			return strings.Compare(x.docs[a].slug, x.docs[b].slug)
		})
		all = all[:min(len(all), most)]
	}
	for _, id := range in {
		if len(all) >= 4*most {
			cut()
		}
		all = append(all, id)
	}
	cut()
	return all
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

// registry numbers groups of documents and knows the sections of each.
type registry struct {
	byName map[string]int32
	all    []group
	free   []int32
}

type group struct {
	name     string
	docs     int
	words    int
	sections []int32 // in order
}

func (r *registry) take(name string) int32 {
	id, ok := r.byName[name]
	if !ok {
		if n := len(r.free); n > 0 {
			id, r.free = r.free[n-1], r.free[:n-1]
			r.all[id] = group{name: name}
		} else {
			id = int32(len(r.all))
			r.all = append(r.all, group{name: name})
		}
		r.byName[name] = id
	}
	r.all[id].docs++
	return id
}

func (r *registry) drop(id int32) {
	if r.all[id].docs--; r.all[id].docs == 0 {
		delete(r.byName, r.all[id].name)
		r.all[id] = group{}
		r.free = append(r.free, id)
	}
}
