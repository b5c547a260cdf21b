package events_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

// maxPut are the allocations of one write, those of the writer's goroutine and of
// the SQLite driver included: see those of reads (query/alloc_test.go).
var maxPut = map[string]float64{"notes": 44, "tagged": 60, "engrams": 54}

func TestPutAllocations(t *testing.T) {
	keys := authors(20)
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			s := storetest.MustOpen(t)
			const warm, runs = 50, 100
			evs := make([]*nostr.Event, warm+runs+1)
			for i := range evs {
				evs[i] = w.make(keys[i%len(keys)], i)
			}
			next := 0
			one := func() {
				if r := s.Put(t.Context(), evs[next], store.PutOptions{}); !r.Outcome.OK() {
					t.Fatalf("%+v", r)
				}
				next++
			}
			for range warm {
				one()
			}
			most := maxPut[w.name]
			if testing.Short() {
				most += most / 4 // pools lose some of what they hold
			}
			if n := testing.AllocsPerRun(runs, one); n > most {
				t.Errorf("storing one allocates %v times, at most %v are needed", n, most)
			}
		})
	}
}
