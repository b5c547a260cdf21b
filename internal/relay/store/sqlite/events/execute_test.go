package events_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// rows are the rows after all that was recorded.
func (g *origin) rows() []string {
	g.t.Helper()
	o := g.o
	events.Following(&o)
	s, err := sqlite.Open(g.t.Context(), o)
	if err != nil {
		g.t.Fatal(err)
	}
	defer s.Close()
	wantWhole(g.t, s)
	return dump(g.t, s)
}

// replay executes what was recorded on another store, n commands to a
// transaction, under another clock, with restarts and failures, and returns its
// rows.
func (g *origin) replay(t *testing.T, n int, seed uint64) []string {
	t.Helper()
	recorded := g.recorded
	rnd := rand.New(rand.NewPCG(seed, 2))
	o := storetest.Options(t, events.Following, func(o *sqlite.Options) {
		zone := time.FixedZone("elsewhere", 5*3600+1800)
		o.Clock = func() time.Time { return time.Unix(1_900_000_000, 0).In(zone) }
		o.MaxBatch = n
	})
	if err := os.WriteFile(o.Path, readFile(t, g.empty), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	fail := func() bool { return rnd.IntN(15) == 0 }
	for len(recorded) > 0 {
		k := min(len(recorded), 1+rnd.IntN(len(recorded)))
		for _, e := range recorded[:k] {
			raw, err := store.AppendCommand(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := e.Command.(store.Configure); ok {
				o.Live = c.Live // what the last one said is in force after a restart
			}
			if _, err := store.ParseCommand(raw); err != nil {
				t.Fatalf("%T: %v", e.Command, err)
			}
		}
		if err := events.Execute(s, recorded[:k], n, fail); err != nil {
			t.Fatal(err)
		}
		recorded = recorded[k:]
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = sqlite.Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return dump(t, s)
}

func dump(t *testing.T, s *sqlite.Store) []string {
	t.Helper()
	rows, err := events.Dump(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return rows
}

// The same commands in the same order give the same rows, wherever they are
// executed.
func TestCommandsGiveTheSameRows(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed) // a failure of the first store's own checks does not say it
	g := newOrigin(t, seed)
	for range 60 {
		g.step()
	}
	g.surely()
	g.large()
	for range 40 {
		g.step()
	}
	g.close()
	want := g.rows()
	kinds := map[string]int{}
	for _, e := range g.recorded {
		kinds[fmt.Sprintf("%T", e.Command)]++
	}
	for _, c := range store.Commands() {
		if _, ok := c.(store.SubmitEvent); ok {
			continue // of a store that is one of several (TestOneOrderGivesTheSameRows)
		}
		if kinds[fmt.Sprintf("%T", c)] == 0 {
			t.Errorf("seed %d: no %T was recorded", seed, c)
		}
	}
	sizes := []int{1, 7, 512}
	if testing.Short() {
		sizes = []int{7}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprintf("%d to a transaction", n), func(t *testing.T) {
			got := g.replay(t, n, seed)
			if i := firstDifference(got, want); i >= 0 {
				t.Fatalf("seed %d: of %d rows, %d here, row %d differs:\n%.300s\n%.300s", seed, len(want), len(got), i, at(got, i), at(want, i))
			}
		})
	}
}

func firstDifference(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if at(a, i) != at(b, i) {
			return i
		}
	}
	return -1
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}
