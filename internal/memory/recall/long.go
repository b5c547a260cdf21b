package recall

const (
	// mostPart is how many of the best by a part of a long prompt are looked at.
	mostPart = 5
	// sampled is with how many memories a part is compared at most to see what is usual.
	sampled = 100
	// Log-odds that a memory bears on a long prompt: those by words, how far its cosine
	// stands out, and what is off. Fitted on prompts of two projects, each judged by what
	// the other gave, and on prompts that bear on nothing.
	byPart, byNear, longBase = 1.2, 0.7, -1.05
)

// long judges what the parts of a long prompt find, most of which are talk, and the
// whole: by words, and by how far the meaning of the best by words stands out. Of other
// memories a sample is compared.
func (s *search) long(parts []string, open []bool) []bearing {
	near, last := s.q.Near, len(parts)-1
	s.q.Near = nil
	bears, stands := map[int32]bearing{}, map[int32]float64{}
	among := evenly(open)
	for i, text := range parts {
		most := mostPart
		if i == last {
			most = MostTold
		}
		hits := s.part(text, open, most)
		var z func(*Hit) (float64, bool)
		if i < last {
			z = s.around(near, text, among)
		}
		for _, h := range hits {
			if b, ok := bears[h.doc]; h.bears() && (!ok || h.odds(hits[0].Score) > b.odds) {
				bears[h.doc] = bearing{h, h.odds(hits[0].Score)}
			}
			if z == nil {
				continue
			}
			if out, ok := z(&h); ok {
				stands[h.doc] = max(stands[h.doc], out)
			}
		}
	}
	all := make([]bearing, 0, len(bears))
	for doc, b := range bears {
		if z, ok := stands[doc]; ok {
			b.odds = longBase + byPart*b.odds + byNear*z
		}
		all = append(all, b)
	}
	return all
}

// evenly is at most so many (sampled) of the open documents, evenly of all.
func evenly(open []bool) (ids []int32) {
	for id, may := range open {
		if may {
			ids = append(ids, int32(id))
		}
	}
	step := 1 + len(ids)/sampled
	for i := 0; i*step < len(ids); i++ {
		ids[i] = ids[i*step]
	}
	return ids[:(len(ids)+step-1)/step]
}

// around says how far the cosine of a hit and a text stands out from those of a sample of
// memories; nil without enough vectors, false for a hit that has none.
func (s *search) around(near Near, text string, among []int32) func(*Hit) (float64, bool) {
	if near == nil {
		return nil
	}
	n, ok := near(text)
	var usual []best
	var ids []int32
	for i := 0; ok && i < len(among); i++ {
		if c, ok := n.Cosine(s.x.docs[among[i]].slug, 0); ok {
			ids, usual = append(ids, int32(len(ids))), append(usual, best{score: c})
		}
	}
	if len(ids) < several {
		return nil
	}
	of := spread(ids, usual)
	of.deviation = max(of.deviation, n.Deviation/2) // a few that are alike say little of what is usual
	return func(h *Hit) (float64, bool) {
		c, ok := n.Cosine(h.Slug, h.Section)
		return max(-mostAsked, min(of.z(c), mostAsked)), ok
	}
}
