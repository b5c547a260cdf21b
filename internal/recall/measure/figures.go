package measure

import (
	"cmp"
	"math"
	"slices"
	"time"

	"engramd/internal/recall"
)

// depth is how many results are looked at.
const depth = 100

// Ranker answers a query with slugs, best first.
type Ranker func(q recall.Query) []string

// Config is one way of ranking.
type Config struct {
	Name string
	// Make makes a ranker over one memory.
	Make func(m *Memory) (Ranker, error)
	// Meaning is what a model says; nil without one.
	Meaning Meaning
}

// Meaning gives the cosines of a query and the sections of a memory: a
// recall.Query's Near. A nil one gives nil.
type Meaning func(m *Memory, query string) func(slug string, section int) (cosine float64, ok bool)

func (n Meaning) query(m *Memory, text string) recall.Query {
	q := recall.Query{Text: text, Now: m.Now}
	if n != nil {
		q.Near = n(m, text)
	}
	return q
}

// Figures are what one way of ranking reaches on a set. Shares are means over
// questions, 0 to 1.
type Figures struct {
	Name            string
	Questions       int
	At5, At10, At20 float64 // of the evidence, among the first so many
	First           float64 // questions with evidence as the first result
	MRR, NDCG       float64 // NDCG among the first ten
	Median, P95     time.Duration
	ByKind          []KindFigures
}

// KindFigures is recall@10 of one kind of question.
type KindFigures struct {
	Kind      string
	Questions int
	At10      float64
}

// Run asks all questions that have evidence. The clock is for the time that each
// takes.
func Run(set *Set, c Config, clock func() time.Time) (Figures, error) {
	f := Figures{Name: c.Name}
	kinds := map[string]*KindFigures{}
	var times []time.Duration
	for i := range set.Memories {
		m := &set.Memories[i]
		rank, err := c.Make(m)
		if err != nil {
			return f, err
		}
		for _, q := range m.Questions {
			if len(q.Evidence) == 0 {
				continue
			}
			asked := c.Meaning.query(m, q.Text)
			before := clock()
			found := rank(asked)
			times = append(times, clock().Sub(before))
			at10 := f.add(found, q.Evidence)
			if kinds[q.Kind] == nil {
				kinds[q.Kind] = &KindFigures{Kind: q.Kind}
			}
			kinds[q.Kind].Questions++
			kinds[q.Kind].At10 += at10
		}
	}
	f.finish(times)
	for _, k := range kinds {
		k.At10 /= float64(k.Questions)
		f.ByKind = append(f.ByKind, *k)
	}
	slices.SortFunc(f.ByKind, func(a, b KindFigures) int { return cmp.Compare(a.Kind, b.Kind) })
	return f, nil
}

// add counts one question, and returns its recall@10.
func (f *Figures) add(found, evidence []string) float64 {
	f.Questions++
	f.At5 += recallAt(found, evidence, 5)
	at10 := recallAt(found, evidence, 10)
	f.At10 += at10
	f.At20 += recallAt(found, evidence, 20)
	gain, ideal := 0., 0.
	for i := range 10 {
		if i < len(evidence) {
			ideal += 1 / math.Log2(float64(i)+2)
		}
		if i < len(found) && slices.Contains(evidence, found[i]) {
			gain += 1 / math.Log2(float64(i)+2)
		}
	}
	f.NDCG += gain / ideal
	if i := slices.IndexFunc(found, func(s string) bool { return slices.Contains(evidence, s) }); i >= 0 {
		f.MRR += 1 / float64(i+1)
		if i == 0 {
			f.First++
		}
	}
	return at10
}

func recallAt(found, evidence []string, k int) float64 {
	n := 0
	for _, slug := range found[:min(k, len(found))] {
		if slices.Contains(evidence, slug) {
			n++
		}
	}
	return float64(n) / float64(len(evidence))
}

func (f *Figures) finish(times []time.Duration) {
	n := float64(max(1, f.Questions))
	for _, v := range []*float64{&f.At5, &f.At10, &f.At20, &f.First, &f.MRR, &f.NDCG} {
		*v /= n
	}
	if len(times) > 0 {
		slices.Sort(times)
		f.Median, f.P95 = times[len(times)/2], times[len(times)*95/100]
	}
}
