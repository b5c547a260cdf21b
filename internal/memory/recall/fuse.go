package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// meaning adds what is near in meaning to what words find: each score counts by how far it
// is from the mean of all, in deviations. The less of the query words cover, the more
// meaning weighs. Ranks would lose how much better the best is.
func (s *search) meaning(found []best, in []int32) []int32 {
	if s.q.Near == nil || s.w.Meaning == 0 {
		return in
	}
	n, ok := s.q.Near(s.q.Text)
	if !ok {
		return in
	}
	near, open := s.nearest(n)
	if len(open) == 0 {
		return in
	}
	s.units = n.units(near, open)
	// The mean of a long text's words is mostly that of its talk: it puts what words find
	// in order, and finds nothing itself. Of another language words say too little for that.
	long := !s.a.foreign && len(windows(s.q.Text)) > 1
	weight, asked := s.weight(found, in, long), len(in)
	for _, id := range open {
		if !found[id].in {
			found[id].section, found[id].in = near[id].section, true
			in = append(in, id)
		}
	}
	words, cosines := spread(in, found), spread(open, near)
	if !s.a.foreign {
		words.deviation = max(words.deviation, s.w.Doubt*idf(0, max(s.a.live, 2)))
	}
	for i, id := range in {
		b, n := &found[id], near[id]
		means := !long && n.in && s.units.means(n.cosine)
		if i >= asked && !means { // it is compared, and no more
			b.in = false
			continue
		}
		b.score = words.z(b.score) - words.z(0) // so that what has no word stays at 0
		if n.in {
			b.cosine, b.compared = n.cosine, len(open) >= several && !long
			b.score += weight * cosines.z(n.score)
		}
		if means {
			b.why |= ByMeaning
		}
	}
	return slices.DeleteFunc(in, func(id int32) bool { return !found[id].in })
}

// several is how many sections are compared before a cosine says how well one fits.
const several = 3

// weight is what meaning weighs beside words: the more, the less of the query the best by
// words has, and the least of a long one.
func (s *search) weight(found []best, in []int32, long bool) float64 {
	if long {
		return s.w.Meaning
	}
	covered := 0.
	if top := s.x.bestOf(found, in, 1); len(top) > 0 {
		covered = s.signsOf(found[top[0]])[signCovered]
	}
	return max(s.w.Meaning, s.w.Unsaid-(s.w.Unsaid-s.w.Meaning)*covered/max(s.w.Said, 1e-9))
}

// nearest finds the section of each document that is nearest by vectors.
func (s *search) nearest(n Nearness) (near []best, in []int32) {
	near = make([]best, len(s.x.docs))
	for id := range s.x.docs {
		doc := &s.x.docs[id]
		if !s.may(int32(id)) {
			continue
		}
		var b best
		for at := doc.from; at < doc.to; at++ {
			c, ok := n.of(doc, int(at-doc.from))
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

// of is the cosine of a section.
func (n *Nearness) of(doc *document, section int) (float64, bool) {
	if n.Kept == nil {
		return n.Cosine(doc.slug, section)
	}
	if (section+1)*VectorDim > len(doc.vectors) {
		return 0, false
	}
	return n.Kept(doc.vectors[section*VectorDim:][:VectorDim]), true
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
