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
	for i, text := range parts {
		most := mostPart
		if i == last {
			most = MostTold
		}
		hits := s.part(text, open, most)
		z, compared := s.around(near, text)
		for _, h := range hits {
			if b, ok := bears[h.doc]; h.bears() && (!ok || h.odds(hits[0].Score) > b.odds) {
				bears[h.doc] = bearing{h, h.odds(hits[0].Score)}
			}
			if i < last && compared {
				stands[h.doc] = max(stands[h.doc], z(&h))
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

// around says how far the cosine of a hit and a text stands out from those of a sample of
// all memories; false without vectors.
func (s *search) around(near Near, text string) (func(*Hit) float64, bool) {
	if near == nil {
		return nil, false
	}
	n, ok := near(text)
	var usual []best
	var ids []int32
	for id := int32(0); ok && int(id) < len(s.x.docs); id += 1 + int32(len(s.x.docs)/sampled) {
		if c, ok := n.Cosine(s.x.docs[id].slug, 0); ok && s.may(id) {
			ids, usual = append(ids, int32(len(ids))), append(usual, best{score: c})
		}
	}
	of := spread(ids, usual)
	return func(h *Hit) float64 {
		c, _ := n.Cosine(h.Slug, h.Section)
		return max(-mostAsked, min(of.z(c), mostAsked))
	}, len(ids) >= several
}
