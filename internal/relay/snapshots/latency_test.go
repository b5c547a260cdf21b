package snapshots

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// BenchmarkWritersBeside measures how long a durable write takes, by four
// writers that never pause, alone and beside snapshots of an agent with 20,000
// engrams being made, or staged for a restore, one after the other: median and
// 99th percentile (µs), and their ratios to those alone; also beside a capture
// that is only held open, and beside a processor that is taken by something
// else.
//
//	go test -tags "sqlite_fts5 libsecp256k1" ./internal/relay/snapshots -run '^$' -bench WritersBeside -benchtime 1x
func BenchmarkWritersBeside(b *testing.B) {
	const engrams, phase = 20_000, 5 * time.Second
	w := newWorld(b, func(o *Options) { o.Clock = time.Now })
	fill(b, w, engrams)
	made := w.create()
	read := func(ctx context.Context) error {
		return w.store.Capture(ctx, gate.Operator(), store.CaptureQuery{Agent: agent.Pub}, func(v store.View) error {
			return v.Each(ctx, store.Heads, func([]byte) error { return ctx.Err() })
		})
	}
	busy := func(ctx context.Context) error { // nothing but a processor that is taken
		for ctx.Err() == nil {
		}
		return nil
	}
	open := func(ctx context.Context) error {
		return w.store.Capture(ctx, gate.Operator(), store.CaptureQuery{Agent: agent.Pub}, func(store.View) error {
			<-ctx.Done()
			return nil
		})
	}
	create := func(ctx context.Context) error {
		_, err := w.Create(ctx, CreateRequest{Tenant: bundle.DefaultTenant, Agent: agent.Pub, By: bundle.ByCLI})
		return err
	}
	restore := func(ctx context.Context) error {
		_, err := w.Restore(ctx, RestoreRequest{Which: which(made.ID), Mode: snapshot.Repair, NoPre: true})
		return err
	}
	for b.Loop() {
		var alone []time.Duration
		for _, beside := range []struct {
			name string
			work func(context.Context) error
		}{{"alone", nil}, {"busy", busy}, {"open", open}, {"capture", read}, {"create", create}, {"restore", restore}} {
			took := w.latencies(b, phase, beside.work)
			if beside.work == nil {
				alone = took
			}
			for _, p := range []struct {
				name string
				at   float64
			}{{"p50", .5}, {"p99", .99}} {
				is := percentile(took, p.at)
				b.ReportMetric(float64(is.Microseconds()), beside.name+"-"+p.name+"-µs")
				if beside.work != nil {
					b.ReportMetric(float64(is)/float64(percentile(alone, p.at)), beside.name+"-"+p.name+"-ratio")
				}
			}
		}
	}
}

// fill stores engrams of the agent.
func fill(tb testing.TB, w *world, n int) {
	tb.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 { // they share commits
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				w.put(fmt.Sprint("mem/", i), i)
			}
		})
	}
	wg.Wait()
}

// latencies are those of writes for a time, sorted, while work is done over and
// over.
func (w *world) latencies(tb testing.TB, during time.Duration, work func(context.Context) error) []time.Duration {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), during)
	defer cancel()
	var wg sync.WaitGroup
	if work != nil {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := work(ctx); err != nil && ctx.Err() == nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	took := make([][]time.Duration, 4)
	for i := range took {
		wg.Go(func() {
			k := storetest.NewKey(fmt.Sprint("writer ", i))
			for n := int64(0); ctx.Err() == nil; n++ {
				ev := k.Fake(1, n, fmt.Sprint(tb.Name(), during, work == nil, time.Now().UnixNano(), n))
				began := time.Now()
				if r := w.store.Put(context.Background(), ev, store.PutOptions{}); !r.Outcome.OK() {
					tb.Errorf("%+v", r)
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	if len(all) == 0 {
		tb.Fatal("nothing was written")
	}
	return all
}

func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[int(p*float64(len(sorted)-1))]
}

// slowWrite is far longer than a write takes on any machine, and far shorter
// than a capture that is held open for as long as the test wants.
const slowWrite = time.Minute

// TestWritersAreNotHeldUp: writes go on, each in bounded time, while a capture
// is held open and while a restore is staged; and the capture sees none of
// them.
func TestWritersAreNotHeldUp(t *testing.T) {
	w := newWorld(t)
	fill(t, w, 300)
	written := 0
	write := func(what string, n int) {
		t.Helper()
		for range n {
			written++
			ctx, cancel := context.WithTimeout(t.Context(), slowWrite)
			if r := w.store.Put(ctx, agent.Engram(owner, int64(1000+written), fmt.Sprint("new/", written)), store.PutOptions{}); !r.Outcome.OK() {
				t.Errorf("%s: write %d: %+v", what, written, r)
			}
			cancel()
		}
	}
	var seen []*nostr.Event
	err := w.store.Capture(t.Context(), gate.Operator(), store.CaptureQuery{Agent: agent.Pub}, func(v store.View) error {
		write("a capture is open", 100)
		return v.Each(t.Context(), store.Heads, func(json []byte) error {
			if len(seen)%10 == 0 {
				write("a capture is being read", 1)
			}
			ev, err := bundle.ParseEvent(json)
			seen = append(seen, ev)
			return err
		})
	})
	if err != nil || len(seen) != 300 {
		t.Errorf("the capture has %d engrams, %v", len(seen), err)
	}

	r, err := w.store.BeginRestore(store.RestoreOptions{Mode: store.Repair, Agent: agent.Pub})
	if err != nil {
		t.Fatal(err)
	}
	for i, ev := range seen {
		if err := r.Add(t.Context(), store.Heads, ev); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			if err := r.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			write("a restore is being staged", 1)
		}
	}
	write("a restore is staged", 50)
	if done, err := r.Switch(t.Context()); err != nil || done.Present != 300 {
		t.Errorf("%+v, %v", done, err)
	}
}
