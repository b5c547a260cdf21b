package load

import (
	"context"
	"time"
)

// publishWorkload publishes notes.
func publishWorkload() Workload {
	return Workload{
		Name: "publish", Unit: "OK/s", Needs: NeedsEmpty, run: runPublish,
		Help:     "publish signed notes of about 500 bytes, pipelined; each must be answered OK true",
		Defaults: Options{Count: 30_000, Connections: 8, Pipeline: 128, Warmup: 2000},
	}
}

// publishEngramsWorkload publishes engrams as their agents.
func publishEngramsWorkload() Workload {
	return Workload{
		Name: "publish-engrams", Unit: "OK/s", Needs: NeedsEmpty, run: runPublishEngrams,
		Help:     "publish engrams, each connection as one agent (AUTH), every tenth newer than one before it",
		Defaults: Options{Count: 30_000, Connections: 8, Pipeline: 128, Warmup: 2000},
	}
}

func runPublish(ctx context.Context, t Target, o Options) (Result, error) {
	const authors = 100
	set, err := PrepareSet(ctx, o.Cache, SetSpec{Name: "publish", Count: o.Count + o.Warmup, Authors: authors, Seed: o.Seed})
	if err != nil {
		return Result{}, err
	}
	return publishSet(ctx, t, o, set, func(i int) *Key { return &set.Authors[i%authors] })
}

func runPublishEngrams(ctx context.Context, t Target, o Options) (Result, error) {
	set, err := PrepareSet(ctx, o.Cache, SetSpec{
		Name: "publish", Engrams: true, Count: o.Count + o.Warmup, Authors: o.Connections, Replace: 10, Seed: o.Seed,
	})
	if err != nil {
		return Result{}, err
	}
	return publishSet(ctx, t, o, set, func(i int) *Key { return &set.Agents[i].Key })
}

// publishSet publishes a set over o.Connections connections, of which the i-th
// is keyOf(i)'s and has every so many-th event. The first o.Warmup events are
// not measured.
func publishSet(ctx context.Context, t Target, o Options, set *Set, keyOf func(int) *Key) (Result, error) {
	n := o.Connections
	lanes, err := set.lanes(o, 0, set.Len(), n)
	if err != nil {
		return Result{}, err
	}
	warm := func(i int) int { return max(o.Warmup-i+n-1, 0) / n } // its part of the first events
	conns, closeAll, err := OpenAll(ctx, t, o, n, keyOf)
	defer closeAll()
	if err != nil {
		return Result{}, err
	}
	err = Parallel(ctx, n, func(ctx context.Context, i int) error {
		defer conns[i].endWith(ctx)()
		_, err := lanes[i].publish(conns[i], 0, warm(i), o.Pipeline)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	took := make([][]time.Duration, n)
	r, err := Measure(ctx, t, func(ctx context.Context) (count int, err error) {
		err = Parallel(ctx, n, func(ctx context.Context, i int) (err error) {
			defer conns[i].endWith(ctx)()
			took[i], err = lanes[i].publish(conns[i], warm(i), lanes[i].len(), o.Pipeline)
			return err
		})
		for _, l := range took {
			count += len(l)
		}
		return count, err
	})
	if err != nil {
		return Result{}, err
	}
	r.Latency = NewLatency(took...)
	r.Extra = map[string]float64{"bytes_per_event": float64(set.Bytes()) / float64(set.Len())}
	return r, nil
}
