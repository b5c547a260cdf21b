//go:build nightly

package events_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestHiddenRowsTakeNoTimeByTheClock is TestHiddenRowsTakeNoTime with a stopwatch
// instead of SQLite's steps, which do not count what a step takes: both stores
// are asked in turn, and their medians compared.
func TestHiddenRowsTakeNoTimeByTheClock(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	const most = 1.1
	w := newHidingWorld(t, hiddenRows, func(*sqlite.Options) {}) // so that indexes are as deep in both
	for _, s := range w.stores {
		// A search asks each segment of the index, and there is about one for each
		// transaction of late: how many was chance, and is the same from here on.
		if _, err := events.OnWriter(s.Store, "INSERT INTO search(search) VALUES ('optimize')"); err != nil {
			t.Fatal(err)
		}
	}
	table := storetest.MustTable(t, gate.Options{Rules: hidingRules, Wildcard: gate.WildcardExclude})
	stranger := gate.NewReader(w.stranger.Pub)
	fmt.Printf("| question | with %d hidden | with none | ratio |\n|---|--:|--:|--:|\n", hiddenRows)
	check := func(name string, ask func(s *sqlite.Store) error) {
		best := w.ratio(t, name, 100, ask)
		for range 3 { // a machine that does something else is not quiet for long
			if best <= most {
				break
			}
			best = min(best, w.ratio(t, name, 300, ask))
		}
		if best > most {
			t.Errorf("%s: %.2f times as long with hidden rows", name, best)
		}
	}
	filters := w.filters()
	names := make([]string, 0, len(filters))
	for name := range filters {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := filters[name]
		scope, err := table.ScopeFor(stranger, f)
		if err != nil {
			continue
		}
		ask := store.Ask{Scope: scope, Filter: f}
		if f.Search != "" {
			check("search: "+name, func(s *sqlite.Store) error { _, err := s.Search(t.Context(), ask); return err })
			continue
		}
		check("query: "+name, func(s *sqlite.Store) error { _, err := s.Query(t.Context(), ask); return err })
		asks := make([]store.Ask, 4)
		for i := range asks {
			until := nostr.Timestamp(storetest.Start.Unix() + 10_000 + int64(i))
			asks[i] = ask
			asks[i].Filter.Until = &until
		}
		check("4 × count: "+name, func(s *sqlite.Store) error { _, err := s.Count(t.Context(), asks); return err })
	}
	for _, q := range w.histories()[:5] {
		scope := gate.Party(table.PartiesOnly(), stranger)
		check(fmt.Sprintf("history: kind %d, address %v", q.Kind, q.D != nil), func(s *sqlite.Store) error {
			_, _, err := s.History(t.Context(), scope, q)
			return err
		})
	}
}

// ratio asks both stores in turn, so often each, and compares their medians.
func (w *hidingWorld) ratio(t *testing.T, name string, rounds int, ask func(s *sqlite.Store) error) float64 {
	t.Helper()
	var took [2][]time.Duration
	for i := range 2 * (rounds + 20) {
		n := (i + i/2) % 2 // each is the first of two as often as the other
		start := time.Now()
		if err := ask(w.stores[n]); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if i >= 40 {
			took[n] = append(took[n], time.Since(start))
		}
	}
	for n := range took {
		slices.Sort(took[n])
	}
	full, bare := took[0][rounds/2], took[1][rounds/2]
	ratio := float64(full) / float64(bare)
	fmt.Printf("| %s | %.1f µs | %.1f µs | %.2f |\n", name, float64(full)/1e3, float64(bare)/1e3, ratio)
	return ratio
}
