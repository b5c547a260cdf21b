package events_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// What benchmarks write: events of about 500 bytes of JSON, by 200 authors.
var workloads = []struct {
	name string
	make func(k storetest.Key, i int) *nostr.Event
}{
	{"notes", func(k storetest.Key, i int) *nostr.Event { return k.Note(int64(i), prose(i, 165)) }},
	{"tagged", func(k storetest.Key, i int) *nostr.Event {
		return k.Note(int64(i), prose(i, 35), nostr.Tag{"e", fmt.Sprintf("%064x", i/10)}, nostr.Tag{"p", alice.Pub})
	}},
	{"engrams", func(k storetest.Key, i int) *nostr.Event {
		return k.Engram(bob, int64(i), fmt.Sprint("mem/", i%(1<<30)*9/10))
	}},
}

func authors(n int) []storetest.Key {
	out := make([]storetest.Key, n)
	for i := range out {
		out[i] = storetest.NewKey(fmt.Sprint("author ", i))
	}
	return out
}

// BenchmarkPut measures durable writes per second and events per commit.
func BenchmarkPut(b *testing.B) {
	keys := authors(200)
	for _, w := range workloads {
		for _, putters := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/putters=%d", w.name, putters), func(b *testing.B) {
				seen := &counter{}
				s := storetest.MustOpen(b, func(o *sqlite.Options) { o.Observe = seen })
				evs := make([]*nostr.Event, b.N)
				for i := range evs {
					evs[i] = w.make(keys[i%len(keys)], i)
				}
				b.ResetTimer()
				cpu := cpuTime(b)
				var next atomic.Int64
				var wg sync.WaitGroup
				for range putters {
					wg.Go(func() {
						for i := next.Add(1) - 1; i < int64(len(evs)); i = next.Add(1) - 1 {
							if r := s.Put(context.Background(), evs[i], store.PutOptions{}); !r.Outcome.OK() {
								b.Errorf("%+v", r)
							}
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				b.ReportMetric(float64(cpuTime(b)-cpu)/1e3/float64(b.N), "cpu-µs/event")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
				b.ReportMetric(float64(b.N)/float64(len(seen.commits)), "events/commit")
			})
		}
	}
}

// BenchmarkImport measures writes that do not wait for one another, as an
// import's do.
func BenchmarkImport(b *testing.B) {
	keys := authors(200)
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			s := storetest.MustOpen(b)
			evs := make([]*nostr.Event, b.N)
			for i := range evs {
				evs[i] = w.make(keys[i%len(keys)], i)
			}
			b.ResetTimer()
			cpu := cpuTime(b)
			var last store.Pending
			for _, ev := range evs {
				p, err := s.Begin(context.Background(), ev, store.PutOptions{Import: true})
				if err != nil {
					b.Fatal(err)
				}
				last = p
			}
			last.Wait()
			b.StopTimer()
			b.ReportMetric(float64(cpuTime(b)-cpu)/1e3/float64(b.N), "cpu-µs/event")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkVanish measures how long others wait at most while an author with
// b.N events vanishes.
func BenchmarkVanish(b *testing.B) {
	s := storetest.MustOpen(b)
	var last store.Pending
	for i := range b.N {
		p, err := s.Begin(context.Background(), workloads[i%2].make(alice, i), store.PutOptions{})
		if err != nil {
			b.Fatal(err)
		}
		last = p
	}
	last.Wait()
	b.ResetTimer()
	p, err := s.Begin(context.Background(), alice.Vanish(int64(b.N)), store.PutOptions{})
	if err != nil {
		b.Fatal(err)
	}
	var longest time.Duration
	for i := int64(0); ; i++ {
		select {
		case <-p.Done():
			b.ReportMetric(float64(longest.Microseconds())/1e3, "longest-wait-ms")
			return
		default:
			start := time.Now()
			s.Put(context.Background(), bob.Note(i, "meanwhile"), store.PutOptions{})
			longest = max(longest, time.Since(start))
		}
	}
}

// BenchmarkApproved asks 100 owners, of whom none has approved the agent: what a
// relay with that many in write.owners asks for each proposal.
func BenchmarkApproved(b *testing.B) {
	s := storetest.MustOpen(b)
	var owners []string
	for _, k := range authors(100) {
		owners = append(owners, k.Pub)
		list := k.Fake(30078, 0, "", nostr.Tag{"d", "engramd/agents"}, nostr.Tag{"p", bob.Pub})
		if r := s.Put(b.Context(), list, store.PutOptions{}); !r.Outcome.OK() {
			b.Fatal(r)
		}
	}
	for b.Loop() {
		if ok, err := s.Approved(b.Context(), owners, alice.Pub); ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
