package recall

import "time"

// recentDays is the age at which a memory has lost 30 % of what being new gives.
const recentDays = 90

// lean adds what is new and what matters, each a small part of the deviation of
// all scores.
func (s *search) lean(found []best, in []int32) {
	deviation := spread(in, found).deviation
	for _, id := range in {
		doc := &s.x.docs[id]
		found[id].score += deviation * (s.w.Recency*recent(s.q.Now, doc) + s.w.Salience*float64(doc.salience))
	}
}

// recent is 1 for what is of now and falls slowly; nothing is ever too old.
func recent(now time.Time, d *document) float64 {
	if now.IsZero() || d.when == 0 {
		return 0
	}
	days := max(0, float64(now.Unix()-d.when)/86400)
	return 1 / (1 + days/recentDays)
}

// follow lets a document share in the score of the best one that it is linked
// to, or that links to it.
func (s *search) follow(found []best, in []int32) []int32 {
	if s.w.Linked == 0 {
		return in
	}
	type gained struct {
		score float64
		via   int32
	}
	gain := make(map[int32]gained)
	give := func(from, to int32, strength float64) {
		if g := found[from].score * strength; found[from].in && from != to && g > gain[to].score {
			gain[to] = gained{g, from}
		}
	}
	for id := range s.x.docs {
		for _, l := range s.x.docs[id].links {
			if target, ok := s.x.bySlug[l.target]; ok {
				give(int32(id), target, float64(l.strength))
				give(target, int32(id), float64(l.strength))
			}
		}
	}
	for id, g := range gain {
		doc := &s.x.docs[id]
		if !s.may(id) {
			continue
		}
		b := &found[id]
		if !b.in {
			b.section = doc.from
			in = append(in, id)
		}
		b.in, b.why, b.via = true, b.why|ByLink, g.via
		b.score += s.w.Linked * g.score * s.factor(doc)
	}
	return in
}
