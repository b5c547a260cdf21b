package load

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Measure runs part, which returns how many operations it counted, between two
// looks at the clock and at both processes.
func Measure(ctx context.Context, t Target, part func(context.Context) (count int, err error)) (Result, error) {
	var before Sample
	if t.PID != 0 {
		resetPeak(t.PID)
		var err error
		if before, err = Probe(t.PID); err != nil {
			return Result{}, err
		}
	}
	own, start := ownCPU(), time.Now()
	count, err := part(ctx)
	if err != nil {
		return Result{}, err
	}
	r := Result{Seconds: time.Since(start).Seconds(), Count: count, ClientCPU: (ownCPU() - own).Seconds()}
	if t.PID != 0 {
		after, err := Probe(t.PID)
		if err != nil {
			return Result{}, fmt.Errorf("after the run: %w", err)
		}
		r.Usage = usage(before, after, count)
	}
	return r, nil
}

// Parallel calls f for 0 to n-1 at once and waits for all. The first error
// ends the context of the others and is returned.
func Parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var first sync.Once
	var failed error
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := f(ctx, i); err != nil {
				first.Do(func() {
					failed = err
					cancel(err)
				})
			}
		})
	}
	all.Wait()
	return failed
}
