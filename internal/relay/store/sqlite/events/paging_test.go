package events_test

import (
	"context"
	"sync"
	"testing"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/events"
)

// TestPagesThatAreEndedAreWhole: reads that are ended in the middle all the
// time, because others want to begin, answer what they would have answered
// alone.
func TestPagesThatAreEndedAreWhole(t *testing.T) {
	found, ended, seeds := 0, int64(0), 3
	if testing.Short() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		w := newWorld(t, seed, 250, events.Restless)
		var asks []store.Ask
		for range 40 {
			reader := w.Reader()
			f := w.filter(reader)
			scope, _, _ := w.scope(reader, f)
			asks = append(asks, store.Ask{Scope: scope, Filter: f})
		}
		asks = append(asks, store.Ask{Scope: gate.Operator()})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 3 {
			who := fairness.With(ctx, fairness.Who{Share: "others", Conn: uint64(i)})
			all.Go(func() {
				for n := i; ctx.Err() == nil; n++ {
					if _, err := w.store.Query(who, asks[n%len(asks)]); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 120 {
			found += w.compare(t)
			if t.Failed() {
				break
			}
		}
		stop()
		all.Wait()
		ended += w.store.Reads().Ended
	}
	if found < 70*seeds || ended < 700*int64(seeds) {
		t.Errorf("%d events found, %d reads ended: the test proves little", found, ended)
	}
}
