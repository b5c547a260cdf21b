package store_test

import (
	"testing"

	"engramd/internal/store"
	"engramd/internal/store/storetest"
	"engramd/internal/wire"
)

// mostOnDisk bounds what an event takes on disk as a multiple of its JSON, indexes, search and free pages included, so
// that it does not grow unnoticed. The target of 70-performance for an event of 500 bytes is 1.6, and is missed: notes
// measured 1.63, of which the full-text index is a good part; tags and addresses cost further index entries.
var mostOnDisk = map[string]float64{"notes": 1.65, "tagged": 1.7, "engrams": 1.75}

func TestBytesOnDisk(t *testing.T) {
	keys := authors(200)
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			o := storetest.Options(t)
			s, err := store.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var json int64
			var last *store.Pending
			for i := range 20_000 {
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
			t.Logf("%d bytes of JSON per event, %.2f times that on disk", json/20_000, ratio)
			if most := mostOnDisk[w.name]; ratio > most {
				t.Errorf("%s: %.2f times the JSON, at most %.2f", w.name, ratio, most)
			}
		})
	}
}
