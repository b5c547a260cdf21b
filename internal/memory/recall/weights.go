package recall

import "time"

const (
	wCommon   = 0.5 // of a word by which people ask for anything
	resonance = 0.6 // the least cosine of emotions that resonate
)

// Weights are the recipe as a value, so that what each brings can be measured.
type Weights struct {
	K1, BSection, BGroup                   float64
	Previous, Answer, Earlier, Next, Group float64
	Who, Name, Common, Date, Timely, Asked float64
	Derived, External, Emotion             float64
	Meaning, Unsaid, Said, Doubt           float64
	Recency, Salience, Linked, Typo        float64
}

// Recipe returns the weights that are in use. Each was chosen on the development half
// of LoCoMo; docs/benchmarks/RECALL.md says what each of them brings.
func Recipe() Weights {
	return Weights{
		K1:       1,   // how soon a term that is repeated counts no more
		BSection: 0.4, // how much a long section is held back
		BGroup:   0.5, // the same of a whole memory or session
		Previous: 0.15, Next: 0.3,
		Answer:  0.8,  // in place of Previous where that section is a question
		Earlier: 0.25, // two sections before
		Group:   0.7, Who: 4,
		Name: 0.3, Common: wCommon, // of a person's name, as a word
		Date: 8, Timely: 2, // asked for a time, and the section has one
		Asked:   1.5, // off, of a section that asks itself
		Derived: 0.95, External: 0.8, Emotion: 1.4,
		Meaning: 0.3, Unsaid: 2, // of z(cosine), beside z(score), where words cover Said of the query, and nothing
		Said:    0.5,
		Doubt:   0.5,                // the least deviation of scores, in terms that no memory has: one word may match by chance
		Recency: 0.1, Salience: 0.1, // of a standard deviation
		Linked: 0.3, Typo: 0.6, // of a term that is in no text, by one that is nearly it
	}
}

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
