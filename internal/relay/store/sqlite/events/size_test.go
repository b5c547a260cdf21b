package events_test

import (
	"testing"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// mostOnDisk bounds what an event takes on disk as a multiple of its JSON,
// indexes, search and free pages included. The target for events of about 500
// bytes is 1.6 (docs/benchmarks.md); the bound is lower, because what the tables
// take when they are empty is not counted here.
const mostOnDisk = 1.56

func TestBytesOnDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine writes much")
	}
	keys := authors(200)
	nothing, err := sqlite.Open(t.Context(), storetest.Options(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := nothing.Close(); err != nil {
		t.Fatal(err)
	}
	empty, _ := nothing.Sizes() // a page for each table and index: no event takes that
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			events := 20_000
			if w.name == "notes" {
				events = 40_000 // the index of few events has not been merged yet
			}
			o := storetest.Options(t)
			s, err := sqlite.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var json int64
			var last store.Pending
			for i := range events {
				ev := w.make(keys[i%len(keys)], i)
				json += int64(len(wire.AppendEvent(nil, ev)))
				if last, err = s.Begin(t.Context(), ev, store.PutOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			last.Wait()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			size, _ := s.Sizes()
			ratio := float64(size-empty) / float64(json)
			t.Logf("%d bytes of JSON per event, %.3f times that on disk, beside %d bytes of an empty store", json/int64(events), ratio, empty)
			if ratio > mostOnDisk {
				t.Errorf("%s: %.2f times the JSON, at most %.2f", w.name, ratio, mostOnDisk)
			}
		})
	}
}
