package recalled

import (
	"cmp"
	"math"
	"slices"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/internal/memory/recall"
)

// The weights of ENGRAM 0.1: meaning, recency, salience, closeness in the graph;
// and its decay for a day.
const (
	fixedMeaning  = 0.6
	fixedRecency  = 0.2
	fixedSalience = 0.15
	fixedGraph    = 0.05
	fixedDecay    = 0.95
)

// Fixed ranks by the formula of ENGRAM 0.1, with the score of BM25 as a share of the
// best in place of an embedding's cosine, as there is no model here.
func Fixed() measure.Config {
	return measure.Config{Name: "ENGRAM 0.1", Make: func(m *measure.Memory) (measure.Ranker, error) {
		x, err := measure.BuildIndex(m)
		if err != nil {
			return nil, err
		}
		words := measure.Bare()
		return func(q recall.Query) []measure.Hit {
			scores := make(map[string]float64)
			hits := x.Rank(q, words, len(m.Documents))
			for _, h := range hits {
				scores[h.Slug] = h.Score / hits[0].Score
			}
			total := make(map[string]float64, len(m.Documents))
			slugs := make([]string, 0, len(m.Documents))
			for _, d := range m.Documents {
				near := 0.
				for _, l := range d.Links {
					near = max(near, scores[l.Target])
				}
				age := max(0, m.Now.Sub(d.When).Hours()/24)
				total[d.Slug] = fixedMeaning*scores[d.Slug] + fixedRecency*math.Pow(fixedDecay, age) + fixedSalience*d.Salience + fixedGraph*near
				slugs = append(slugs, d.Slug)
			}
			slices.SortStableFunc(slugs, func(a, b string) int { return cmp.Compare(total[b], total[a]) })
			return measure.Hits(slugs)
		}, nil
	}}
}
