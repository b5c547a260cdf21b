package load

import (
	"context"
	"time"
)

// asking is who asks what, on how many connections.
type asking struct {
	keyOf      func(conn int) *Key
	warm, main [][]*question // of each connection
}

// deal gives count questions, made by of, to n connections in turn.
func deal(n, count int, of func(conn, i int) *question) [][]*question {
	all := make([][]*question, n)
	for i := range count {
		all[i%n] = append(all[i%n], of(i%n, i))
	}
	return all
}

// run asks, on each connection one question after the other. The events of each
// connection's first question are checked as a whole, if there is a warm-up.
// Result.Count is the events; the requests are returned beside it.
func (a asking) run(ctx context.Context, t Target, o Options) (r Result, requests int, err error) {
	conns, closeAll, err := OpenAll(ctx, t, o, len(a.main), a.keyOf)
	defer closeAll()
	if err != nil {
		return Result{}, 0, err
	}
	askers := make([]asker, len(conns))
	for i, c := range conns {
		askers[i] = asker{c: c, thorough: true}
	}
	took := make([][]time.Duration, len(conns))
	all := func(ctx context.Context, lists [][]*question) error {
		return Parallel(ctx, len(conns), func(ctx context.Context, i int) error {
			defer conns[i].endWith(ctx)()
			took[i] = make([]time.Duration, 0, len(lists[i]))
			for _, q := range lists[i] {
				d, err := askers[i].ask(q)
				if err != nil {
					return err
				}
				took[i] = append(took[i], d)
				askers[i].thorough = false // it would keep the relay waiting
			}
			return nil
		})
	}
	if err := all(ctx, a.warm); err != nil {
		return Result{}, 0, err
	}
	for i := range askers {
		askers[i].thorough = false
	}
	events := 0
	for _, list := range a.main {
		requests += len(list)
		for _, q := range list {
			events += q.len()
		}
	}
	r, err = Measure(ctx, t, func(ctx context.Context) (int, error) { return events, all(ctx, a.main) })
	if err != nil {
		return Result{}, 0, err
	}
	r.Latency = NewLatency(took...)
	return r, requests, nil
}
