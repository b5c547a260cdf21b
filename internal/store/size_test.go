package store_test

import (
	"testing"

	"engramd/internal/store"
	"engramd/internal/store/storetest"
	"engramd/internal/wire"
)

// mostOnDisk bounds what an event takes on disk as a multiple of its JSON, indexes, search and free pages included, so
// that it does not grow unnoticed. The target of 70-performance for an event of 500 bytes is 1.6: plain notes meet it,
// the full-text index being a fifth of what they cost beside their JSON. Two indexed tags of 32 bytes, or an address,
// cost index entries that go beyond it.
var mostOnDisk = map[string]float64{"notes": 1.6, "tagged": 1.75, "engrams": 1.8}

func TestBytesOnDisk(t *testing.T) {
	keys := authors(200)
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			events := 20_000
			if w.name == "notes" {
				events = 40_000 // the index of few events has not been merged yet
			}
			o := storetest.Options(t)
			s, err := store.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var json int64
			var last *store.Pending
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
			ratio := float64(size) / float64(json)
			t.Logf("%d bytes of JSON per event, %.2f times that on disk", json/int64(events), ratio)
			if most := mostOnDisk[w.name]; ratio > most {
				t.Errorf("%s: %.2f times the JSON, at most %.2f", w.name, ratio, most)
			}
		})
	}
}
