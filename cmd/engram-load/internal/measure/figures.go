package measure

import (
	"cmp"
	"math"
	"slices"
	"time"

	"engramd/internal/memory/recall"
)

// depth is how many results are looked at.
const depth = 100

// Hit is one result of a way to ask.
type Hit struct {
	Slug   string
	Strong bool // it is said to fit well
	Whole  bool // its text is shown, not its title alone
	Marked bool // it is said to hold no more
}

// Hits are results of which nothing is known but their slugs.
func Hits(slugs []string) []Hit {
	hits := make([]Hit, min(depth, len(slugs)))
	for i := range hits {
		hits[i].Slug = slugs[i]
	}
	return hits
}

// Ranker answers a query, best first.
type Ranker func(q recall.Query) []Hit

// Config is one way of ranking.
type Config struct {
	Name string
	// Make makes a ranker over one memory.
	Make func(m *Memory) (Ranker, error)
	// Meaning is what a model says; nil without one.
	Meaning Meaning
	// Answers says that it may also answer with nothing, or say that what it gives
	// fits badly: questions without an answer are asked too.
	Answers bool
}

// Meaning compares texts with the sections of a memory; nil does not.
type Meaning func(m *Memory, texts []string) recall.Near

func (n Meaning) query(m *Memory, text string) recall.Query {
	q := recall.Query{Text: text, Now: m.Now}
	if n != nil {
		q.Near = n(m, recall.Parts(text))
	}
	return q
}

// Figures are what one way of ranking reaches on a set. Shares are means over
// questions, 0 to 1.
type Figures struct {
	Name                 string
	Questions            int     // with evidence
	At1, At5, At10, At20 float64 // of the evidence, among the first so many
	First                float64 // questions with evidence as the first result
	MRR, NDCG            float64 // NDCG among the first ten
	Median, P95          time.Duration
	ByKind               []KindFigures
	*Answers
}

// Answers are the figures of what may also say that nothing fits, or that
// something fits badly.
type Answers struct {
	// Precision is the share of relevant ones among all texts that are shown whole at
	// questions with evidence, and StrongPrecision the same of strong ones.
	Precision, StrongPrecision float64
	Texts                      float64 // that are shown whole at such a question
	Strong                     float64 // of right first results
	Unanswered                 int     // questions without evidence
	FalseStrong, False         float64 // of these, answered by something strong, or by anything
	Unrelated                  int     // of these, prompts that bear on nothing
	Silent                     float64 // of Unrelated, answered by nothing
	// Outdated is how many questions have an outdated answer, and Updated the share
	// of these that get the new one first and nothing outdated unmarked.
	Outdated int
	Updated  float64

	whole, relevant, strong, right int
}

// Unrelated is the kind of prompts that bear on nothing.
const Unrelated = "unrelated"

// KindFigures is recall of one kind of question.
type KindFigures struct {
	Kind      string
	Questions int
	At5, At10 float64
}

// Run asks all questions that have evidence, and of what answers the others too. The clock is for the time that each
// takes.
func Run(set *Set, c Config, clock func() time.Time) (Figures, error) {
	f := Figures{Name: c.Name}
	if c.Answers {
		f.Answers = &Answers{}
	}
	kinds := map[string]*KindFigures{}
	var times []time.Duration
	for i := range set.Memories {
		m := &set.Memories[i]
		rank, err := c.Make(m)
		if err != nil {
			return f, err
		}
		for _, q := range m.Questions {
			if len(q.Evidence) == 0 && !c.Answers {
				continue
			}
			asked := c.Meaning.query(m, q.Text)
			before := clock()
			hits := rank(asked)
			took := clock().Sub(before)
			if c.Answers {
				f.answered(q, hits)
			}
			if len(q.Evidence) == 0 {
				continue
			}
			times = append(times, took)
			slugs := make([]string, len(hits))
			for i, h := range hits {
				slugs[i] = h.Slug
			}
			f.add(slugs, q.Evidence)
			k := kinds[q.Kind]
			if k == nil {
				k = &KindFigures{Kind: q.Kind}
				kinds[q.Kind] = k
			}
			k.Questions++
			k.At5 += recallAt(slugs, q.Evidence, 5)
			k.At10 += recallAt(slugs, q.Evidence, 10)
		}
	}
	f.finish(times)
	for _, k := range kinds {
		k.At5 /= float64(k.Questions)
		k.At10 /= float64(k.Questions)
		f.ByKind = append(f.ByKind, *k)
	}
	slices.SortFunc(f.ByKind, func(a, b KindFigures) int { return cmp.Compare(a.Kind, b.Kind) })
	return f, nil
}

// answered counts what is said beside the slugs.
func (f *Answers) answered(q Question, hits []Hit) {
	strong := slices.ContainsFunc(hits, func(h Hit) bool { return h.Strong })
	if len(q.Evidence) == 0 {
		f.Unanswered++
		f.FalseStrong += one(strong)
		f.False += one(len(hits) > 0)
		if q.Kind == Unrelated {
			f.Unrelated++
			f.Silent += one(len(hits) == 0)
		}
		return
	}
	for i, h := range hits {
		is := slices.Contains(q.Evidence, h.Slug)
		if i == 0 && is {
			f.right++
			f.Strong += one(h.Strong)
		}
		if is = is || slices.Contains(q.Relevant, h.Slug); h.Whole {
			f.whole++
			f.relevant += int(one(is))
			f.strong += int(one(h.Strong))
			f.StrongPrecision += one(h.Strong && is)
		}
	}
	if len(q.Outdated) > 0 {
		f.Outdated++
		f.Updated += one(len(hits) > 0 && slices.Contains(q.Evidence, hits[0].Slug) &&
			!slices.ContainsFunc(hits, func(h Hit) bool { return !h.Marked && slices.Contains(q.Outdated, h.Slug) }))
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (f *Figures) add(found, evidence []string) {
	f.Questions++
	f.At1 += recallAt(found, evidence, 1)
	f.At5 += recallAt(found, evidence, 5)
	f.At10 += recallAt(found, evidence, 10)
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
		f.First += one(i == 0)
	}
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
	for _, v := range []*float64{&f.At1, &f.At5, &f.At10, &f.At20, &f.First, &f.MRR, &f.NDCG} {
		*v /= n
	}
	if a := f.Answers; a != nil {
		a.Texts = float64(a.whole) / n
		for _, v := range []struct {
			of *float64
			n  int
		}{{&a.StrongPrecision, a.strong}, {&a.Strong, a.right}, {&a.FalseStrong, a.Unanswered}, {&a.False, a.Unanswered}, {&a.Silent, a.Unrelated}, {&a.Updated, a.Outdated}} {
			*v.of /= float64(max(1, v.n))
		}
		a.Precision = float64(a.relevant) / float64(max(1, a.whole))
	}
	if len(times) > 0 {
		slices.Sort(times)
		f.Median, f.P95 = times[len(times)/2], times[len(times)*95/100]
	}
}
