package recalled

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/internal/memory/recall"
)

// Result is what one way reaches on one set.
type Result struct {
	Set string
	measure.Figures
}

// Ways are how a memory is asked: found, returned, told, searched, and by what
// others do.
func Ways(meaning measure.Meaning) []measure.Config {
	r := recall.Recipe()
	return append(Own(meaning), measure.Searched("search", r), measure.Weighted("BM25, stems and stop words", measure.Bare()), BM25(), FTS5(), Fixed())
}

// Own are the first three, with meaning if it is not nil.
func Own(meaning measure.Meaning) []measure.Config {
	r := recall.Recipe()
	ways := []measure.Config{measure.Weighted("found", r), measure.Returned("returned", r), measure.Told("told", r)}
	for i := range ways {
		ways[i].Meaning = meaning
	}
	return ways
}

// Run asks each set in each way.
func Run(ctx context.Context, sets []*measure.Set, ways []measure.Config, clock func() time.Time) ([]Result, error) {
	var all []Result
	for _, set := range sets {
		for _, way := range ways {
			f, err := one(ctx, set, way, clock)
			if err != nil {
				return nil, err
			}
			all = append(all, Result{set.Name, f})
		}
	}
	return all, nil
}

// one asks a set in one way, until the context ends.
func one(ctx context.Context, set *measure.Set, way measure.Config, clock func() time.Time) (measure.Figures, error) {
	ask := way.Make
	way.Make = func(m *measure.Memory) (measure.Ranker, error) {
		rank, err := ask(m)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return nil, err
		}
		return func(q recall.Query) []measure.Hit {
			if ctx.Err() != nil {
				return nil
			}
			return rank(q)
		}, nil
	}
	f, err := measure.Run(set, way, clock)
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return f, fmt.Errorf("%s, %s: %w", set.Name, way.Name, err)
	}
	return f, nil
}

// Share asks prompts that bear on nothing, which are sets without a memory, of the
// first memory of each set that has talk, and returns the sets with memories.
func Share(sets []*measure.Set) []*measure.Set {
	var prompts []measure.Question
	rest := slices.DeleteFunc(slices.Clone(sets), func(s *measure.Set) bool {
		if documents, _ := s.Size(); documents > 0 {
			return false
		}
		for _, m := range s.Memories {
			prompts = append(prompts, m.Questions...)
		}
		return true
	})
	for i, s := range rest {
		if s.Talk == nil || len(prompts) == 0 {
			continue
		}
		with := *s
		with.Memories = slices.Clone(s.Memories)
		with.Memories[0].Questions = slices.Concat(s.Memories[0].Questions, prompts)
		rest[i] = &with
	}
	return rest
}
