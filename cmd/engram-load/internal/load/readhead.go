package load

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// readHeadWorkload reads single engrams.
func readHeadWorkload() Workload {
	return Workload{
		Name: "read-head", Unit: "req/s", Needs: NeedsCorpus, run: runReadHead,
		Help: `read single engrams, {"kinds":[30174],"authors":[agent],"#d":[d],"#p":[owner]}, each connection as another agent; ` +
			`1 connection for latency, 32 for requests per second`,
		Defaults: Options{Count: 4000, Connections: 1, Warmup: 200},
	}
}

func runReadHead(ctx context.Context, t Target, o Options) (Result, error) {
	c, err := LoadCorpus(o.Cache, o.Size, o.Seed)
	if err != nil {
		return Result{}, err
	}
	// The first connection is the agent with the most engrams.
	var who []int
	heads := make([][]Entry, len(c.Agents)) // of each, by number
	for _, e := range c.Entries {
		if e.Engram {
			heads[e.Who] = append(heads[e.Who], e)
		}
	}
	for i := range c.Agents {
		if len(heads[i]) > 0 {
			who = append(who, i)
		}
	}
	if len(who) == 0 {
		return Result{}, fmt.Errorf("%w: a corpus of %d events has no engrams", ErrOptions, c.Size)
	}
	g := generator{seed: o.Seed, stream: "read-head"}
	r := rand.New(g.rand(0))
	of := func(conn, _ int) *question {
		i := who[conn%len(who)]
		a, n := &c.Agents[i], r.IntN(len(heads[i]))
		q := newQuestion(fmt.Sprintf(`{"kinds":[30174],"authors":["%s"],"#d":["%s"],"#p":["%s"]}`, a.Pub, a.Address(n), a.Owner.Pub),
			heads[i][n:n+1])
		return &q
	}
	res, requests, err := asking{
		keyOf: func(i int) *Key { return &c.Agents[who[i%len(who)]].Key },
		warm:  deal(o.Connections, o.Warmup, of), main: deal(o.Connections, o.Count, of),
	}.run(ctx, t, o)
	if err != nil {
		return Result{}, err
	}
	res.Count = requests // one event each
	return res, nil
}
