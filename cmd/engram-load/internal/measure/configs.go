package measure

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
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

// Weighted is what the recipe finds with these weights.
func Weighted(name string, w recall.Weights) Config {
	return ranking(name, w, func(x *recall.Index, q recall.Query, _ recall.Texts) []recall.Hit { return x.Rank(q, w, depth) })
}

// Searched is what a search gives.
func Searched(name string, w recall.Weights) Config {
	return ranking(name, w, func(x *recall.Index, q recall.Query, texts recall.Texts) []recall.Hit { return x.Search(q, w, texts) })
}

func ranking(name string, w recall.Weights, ask func(*recall.Index, recall.Query, recall.Texts) []recall.Hit) Config {
	return Config{Name: name, Make: func(m *Memory) (Ranker, error) {
		x, err := BuildIndex(m)
		if err != nil {
			return nil, err
		}
		texts := m.texts()
		return func(q recall.Query) []Hit {
			hits := make([]Hit, 0, depth)
			for _, h := range ask(x, q, texts) {
				hits = append(hits, Hit{Slug: h.Slug})
			}
			return hits
		}, nil
	}}
}

// Returned is what memory_recall answers: the hits of its block, in order.
func Returned(name string, w recall.Weights) Config {
	return answering(name, w, (*recall.Index).Recall)
}

// Told is what the hook at a prompt tells.
func Told(name string, w recall.Weights) Config {
	return answering(name, w, func(x *recall.Index, q recall.Query, w recall.Weights, texts recall.Texts) []recall.Found {
		q.MinTrust = frontmatter.Derived
		return x.Told(q, w, texts)
	})
}

func answering(name string, w recall.Weights, ask func(*recall.Index, recall.Query, recall.Weights, recall.Texts) []recall.Found) Config {
	return Config{Name: name, Answers: true, Make: func(m *Memory) (Ranker, error) {
		x, err := BuildIndex(m)
		if err != nil {
			return nil, err
		}
		texts := m.texts()
		return func(q recall.Query) []Hit {
			found := ask(x, q, w, texts)
			_, shown := recall.Block(found, texts, recall.DefaultBudget)
			hits := make([]Hit, 0, len(found))
			for i, f := range found {
				if shown[i] != recall.NotShown {
					hits = append(hits, Hit{Slug: f.Slug, Strong: f.Fit == recall.Strong, Whole: shown[i] == recall.Whole,
						Marked: f.State != frontmatter.Active || len(f.SupersededBy) > 0})
				}
			}
			return hits
		}, nil
	}}
}

// Nearest is what a model says alone.
func Nearest(name string, meaning Meaning) Config {
	return Config{Name: name, Make: nearest, Meaning: meaning}
}

// nearest ranks by the cosine of the nearest section.
func nearest(m *Memory) (Ranker, error) {
	return func(q recall.Query) []Hit {
		n, _ := q.Near(q.Text)
		cosines := make(map[string]float64, len(m.Documents))
		slugs := make([]string, 0, len(m.Documents))
		for _, d := range m.Documents {
			for section := 0; ; section++ {
				c, ok := n.Cosine(d.Slug, section)
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
		return Hits(slugs)
	}, nil
}

// neutral is what a weight is when it is off, where that is not zero.
var neutral = map[string]float64{"Derived": 1, "External": 1, "Emotion": 1, "Name": 1, "Common": 1}

// constants are how BM25 counts, which is no weight of the recipe.
var constants = map[string]bool{"K1": true, "BSection": true, "BGroup": true}

// Off is the recipe without one of its weights.
type Off struct {
	Name    string
	Weights recall.Weights
}

// Offs returns the recipe without each of its weights, by the names of the fields,
// also of those within others.
func Offs() []Off {
	var all []Off
	w := recall.Recipe()
	each("", 0, reflect.ValueOf(&w).Elem(), func(name string, v reflect.Value, off float64) {
		if was := v.Float(); was != off {
			v.SetFloat(off)
			all = append(all, Off{name, w})
			v.SetFloat(was)
		}
	})
	return all
}

// each calls f with each weight within v and with what it is when it is off. An answer
// to a question is then like any section that follows another.
func each(name string, off float64, v reflect.Value, f func(name string, v reflect.Value, off float64)) {
	switch {
	case !v.CanSet() || v.Kind() == reflect.Float64 && constants[name[strings.LastIndexByte(name, '.')+1:]]:
	case v.Kind() == reflect.Float64:
		f(name, v, off)
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			each(fmt.Sprintf("%s[%d]", name, i), off, v.Index(i), f)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			off := neutral[field]
			if previous := v.FieldByName("Previous"); field == "Answer" && previous.IsValid() && previous.CanFloat() {
				off = previous.Float()
			}
			each(strings.TrimPrefix(name+"."+field, "."), off, v.Field(i), f)
		}
	}
}

// Bare is BM25 of sections alone: the recipe with every weight off.
func Bare() recall.Weights {
	w := recall.Recipe()
	each("", 0, reflect.ValueOf(&w).Elem(), func(_ string, v reflect.Value, off float64) { v.SetFloat(off) })
	w.Answer = w.Previous
	return w
}

// Configs returns the recipe, the recipe without each of its weights, and BM25
// alone.
func Configs() []Config {
	all := []Config{Weighted("recipe", recall.Recipe())}
	for _, off := range Offs() {
		all = append(all, Weighted("without "+off.Name, off.Weights))
	}
	return append(all, Weighted("BM25 of sections alone", Bare()))
}
