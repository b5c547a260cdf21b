package load

import (
	"context"
	"fmt"
)

// queryWorkload asks for notes of one author.
func queryWorkload() Workload {
	return Workload{
		Name: "query", Unit: "events/s", Needs: NeedsCorpus, run: runQuery,
		Help:     `ask {"kinds":[1],"authors":[a],"limit":500} of one author after the other; ids and order must be right`,
		Defaults: Options{Count: 400, Connections: 4, Warmup: 40},
	}
}

// listWorkload asks for all engrams of the agent that has the most.
func listWorkload() Workload {
	return Workload{
		Name: "list", Unit: "events/s", Needs: NeedsCorpus, run: runList,
		Help:     `ask {"kinds":[30174],"authors":[agent],"#p":[owner],"limit":5000} as the agent that has the most engrams`,
		Defaults: Options{Count: 40, Connections: 4, Warmup: 4},
	}
}

func runQuery(ctx context.Context, t Target, o Options) (Result, error) {
	c, err := LoadCorpus(o.Cache, o.Size, o.Seed)
	if err != nil {
		return Result{}, err
	}
	questions := make([]question, len(c.Authors))
	for i, k := range c.Authors {
		questions[i] = newQuestion(fmt.Sprintf(`{"kinds":[1],"authors":["%s"],"limit":%d}`, k.Pub, notesPerAuthor), c.NotesOf(i, notesPerAuthor))
	}
	reader, err := c.Reader(0)
	if err != nil {
		return Result{}, err
	}
	of := func(_, i int) *question { return &questions[i%len(questions)] }
	return askEvents(ctx, t, o, asking{
		keyOf: func(int) *Key { return &reader },
		warm:  deal(o.Connections, o.Warmup, of), main: deal(o.Connections, o.Count, of),
	})
}

func runList(ctx context.Context, t Target, o Options) (Result, error) {
	c, err := LoadCorpus(o.Cache, o.Size, o.Seed)
	if err != nil {
		return Result{}, err
	}
	agent := &c.Agents[0]
	filter := fmt.Sprintf(`{"kinds":[30174],"authors":["%s"],"#p":["%s"],"limit":%d}`, agent.Pub, agent.Owner.Pub, mostEngrams)
	q := newQuestion(filter, c.EngramsOf(0, mostEngrams))
	of := func(int, int) *question { return &q }
	return askEvents(ctx, t, o, asking{
		keyOf: func(int) *Key { return &agent.Key },
		warm:  deal(o.Connections, o.Warmup, of), main: deal(o.Connections, o.Count, of),
	})
}

// askEvents is asking whose figure is the events.
func askEvents(ctx context.Context, t Target, o Options, a asking) (Result, error) {
	r, requests, err := a.run(ctx, t, o)
	if err != nil {
		return Result{}, err
	}
	r.Extra = map[string]float64{
		"requests_per_s":     float64(requests) / r.Seconds,
		"events_per_request": float64(r.Count) / float64(requests),
	}
	return r, nil
}
