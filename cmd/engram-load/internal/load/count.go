package load

import (
	"context"
	"fmt"
	"time"
)

// countWorkload counts what a tag selects.
func countWorkload() Workload {
	return Workload{
		Name: "count", Unit: "req/s", Needs: NeedsCorpus, run: runCount,
		Help: `count the notes with one tag (NIP-45), 1,000 where the corpus is large enough, one request after the other; ` +
			`the answer must be exact`,
		Defaults: Options{Count: 200, Connections: 1, Warmup: 10},
	}
}

func runCount(ctx context.Context, t Target, o Options) (Result, error) {
	c, err := LoadCorpus(o.Cache, o.Size, o.Seed)
	if err != nil {
		return Result{}, err
	}
	message := fmt.Appendf(nil, `["COUNT","%s",{"kinds":[1],"#t":["%s"]}]`, askSub, RareTag)
	want := int64(c.Rare())
	take := func(m Message) (bool, error) {
		if m.Label != LabelCount {
			return false, fmt.Errorf("%w: an answer to COUNT that is none", ErrWrong)
		}
		if m.Count != want {
			return false, fmt.Errorf("%w: a count of %d that must be %d", ErrWrong, m.Count, want)
		}
		return true, nil
	}
	r, err := repeat(ctx, t, o, func(ctx context.Context, conn *Conn) (time.Duration, error) {
		return conn.exchange(ctx, patience, take, message)
	})
	if err != nil {
		return Result{}, excuse(ctx, t, nipCount, err)
	}
	r.Extra = map[string]float64{"matches": float64(want)}
	return r, nil
}

// repeat makes one request after the other on each of o.Connections
// connections, o.Warmup and then o.Count of them together.
func repeat(ctx context.Context, t Target, o Options, request func(context.Context, *Conn) (time.Duration, error)) (Result, error) {
	keys, err := newKeys(o.Seed, "listener", o.Connections)
	if err != nil {
		return Result{}, err
	}
	conns, closeAll, err := OpenAll(ctx, t, o, o.Connections, func(i int) *Key { return &keys[i] })
	defer closeAll()
	if err != nil {
		return Result{}, err
	}
	took := make([][]time.Duration, len(conns))
	requests := func(ctx context.Context, n int) error {
		return Parallel(ctx, len(conns), func(ctx context.Context, i int) error {
			share := n/len(conns) + min(max(n%len(conns)-i, 0), 1)
			took[i] = make([]time.Duration, 0, share)
			for range share {
				d, err := request(ctx, conns[i])
				if err != nil {
					return err
				}
				took[i] = append(took[i], d)
			}
			return nil
		})
	}
	if err := requests(ctx, o.Warmup); err != nil {
		return Result{}, err
	}
	r, err := Measure(ctx, t, func(ctx context.Context) (int, error) { return o.Count, requests(ctx, o.Count) })
	if err != nil {
		return Result{}, err
	}
	r.Latency = NewLatency(took...)
	return r, nil
}
