package measure

import (
	"cmp"
	"math"
	"slices"

	"engramd/internal/recall"
)

// BuildIndex puts a memory into an index.
func BuildIndex(m *Memory) (*recall.Index, error) {
	x := recall.New()
	for _, d := range m.Documents {
		if err := x.Put(d); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Weighted ranks by the recipe with these weights.
func Weighted(name string, w recall.Weights) Config {
	return Config{Name: name, Make: func(m *Memory) (Ranker, error) {
		x, err := BuildIndex(m)
		if err != nil {
			return nil, err
		}
		return func(q recall.Query) []string {
			hits := x.Rank(q, w, depth)
			slugs := make([]string, len(hits))
			for i, h := range hits {
				slugs[i] = h.Slug
			}
			return slugs
		}, nil
	}}
}

// WithModel returns the recipe with a model beside it, and the model alone.
func WithModel(name string, meaning Meaning) []Config {
	both := Weighted("recipe with "+name, recall.Recipe())
	both.Meaning = meaning
	return []Config{both, {Name: name + " alone", Make: nearest, Meaning: meaning}}
}

// nearest ranks by the cosine of the nearest section.
func nearest(m *Memory) (Ranker, error) {
	return func(q recall.Query) []string {
		cosines := make(map[string]float64, len(m.Documents))
		slugs := make([]string, 0, len(m.Documents))
		for _, d := range m.Documents {
			for section := 0; ; section++ {
				c, ok := q.Near(d.Slug, section)
				if !ok {
					break
				}
				if section == 0 {
					slugs, cosines[d.Slug] = append(slugs, d.Slug), c
				}
				cosines[d.Slug] = max(cosines[d.Slug], c)
			}
		}
		slices.SortStableFunc(slugs, func(a, b string) int { return cmp.Compare(cosines[b], cosines[a]) })
		return slugs[:min(depth, len(slugs))]
	}, nil
}

// Configs returns the recipe, the recipe without each of its weights, BM25 alone,
// and the formula of ENGRAM 0.1.
func Configs() []Config {
	all := []Config{Weighted("recipe", recall.Recipe())}
	for _, a := range []struct {
		name string
		off  func(*recall.Weights)
	}{
		{"previous section", func(w *recall.Weights) { w.Previous = 0 }},
		{"answer to a question", func(w *recall.Weights) { w.Answer = w.Previous }},
		{"two sections before", func(w *recall.Weights) { w.Earlier = 0 }},
		{"next section", func(w *recall.Weights) { w.Next = 0 }},
		{"memory or session", func(w *recall.Weights) { w.Group = 0 }},
		{"who", func(w *recall.Weights) { w.Who = 0 }},
		{"dates", func(w *recall.Weights) { w.Date = 0 }},
		{"expressions of time", func(w *recall.Weights) { w.Timely = 0 }},
		{"questions held back", func(w *recall.Weights) { w.Asked = 0 }},
		{"trust", func(w *recall.Weights) { w.Derived, w.External = 1, 1 }},
		{"recency", func(w *recall.Weights) { w.Recency = 0 }},
		{"salience", func(w *recall.Weights) { w.Salience = 0 }},
		{"links", func(w *recall.Weights) { w.Linked = 0 }},
		{"typos", func(w *recall.Weights) { w.Typo = 0 }},
	} {
		w := recall.Recipe()
		a.off(&w)
		all = append(all, Weighted("without "+a.name, w))
	}
	r := recall.Recipe()
	return append(all,
		Weighted("BM25 of sections alone", recall.Weights{K1: r.K1, BSection: r.BSection, BGroup: r.BGroup, Derived: 1, External: 1, Emotion: 1}),
		Config{Name: "words 0.6, recency 0.2, salience 0.15, links 0.05", Make: fixed})
}

// The weights of ENGRAM 0.1: meaning, recency, salience, closeness in the graph;
// and its decay for a day.
const (
	fixedMeaning  = 0.6
	fixedRecency  = 0.2
	fixedSalience = 0.15
	fixedGraph    = 0.05
	fixedDecay    = 0.95
)

// fixed ranks by the formula of ENGRAM 0.1, with the score of BM25 as a share of the best
// in place of an embedding's cosine, as there is no model here.
func fixed(m *Memory) (Ranker, error) {
	x, err := BuildIndex(m)
	if err != nil {
		return nil, err
	}
	r := recall.Recipe()
	words := recall.Weights{K1: r.K1, BSection: r.BSection, BGroup: r.BGroup, Derived: 1, External: 1, Emotion: 1}
	linked := make(map[string][]string)
	for _, d := range m.Documents {
		for _, l := range d.Links {
			linked[d.Slug] = append(linked[d.Slug], l.Target)
		}
	}
	return func(q recall.Query) []string {
		scores := make(map[string]float64)
		hits := x.Rank(q, words, len(m.Documents))
		for _, h := range hits {
			scores[h.Slug] = h.Score / hits[0].Score
		}
		total := make(map[string]float64, len(m.Documents))
		slugs := make([]string, 0, len(m.Documents))
		for _, d := range m.Documents {
			near := 0.
			for _, target := range linked[d.Slug] {
				near = max(near, scores[target])
			}
			age := max(0, m.Now.Sub(d.When).Hours()/24)
			total[d.Slug] = fixedMeaning*scores[d.Slug] + fixedRecency*math.Pow(fixedDecay, age) + fixedSalience*d.Salience + fixedGraph*near
			slugs = append(slugs, d.Slug)
		}
		slices.SortStableFunc(slugs, func(a, b string) int {
			if total[a] > total[b] {
				return -1
			} else if total[a] < total[b] {
				return 1
			}
			return 0
		})
		return slugs[:min(depth, len(slugs))]
	}, nil
}
