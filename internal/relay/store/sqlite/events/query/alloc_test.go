package query_test

import (
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/storetest"
)

// Allocations of reads, those of the SQLite driver included. They are counted, not timed, so that these tests mean
// the same on every machine; with the race detector pools lose some of what
// they hold.
var (
	maxPlan = 58.0 // with whose each part of it is
	maxHead = 70.0
	maxRow  = 4.0 // of a page of 500, from the statement to the frame
)

// allocBound is the bound without the race detector, and somewhat more with it.
func allocBound(most float64) float64 {
	if testing.Short() {
		return most + most/4
	}
	return most
}

// smallWorld is a store of 600 notes by one author and one engram of alice's,
// and how they are asked for.
func smallWorld(tb testing.TB) (s *sqlite.Store, page, head store.Ask) {
	tb.Helper()
	table := storetest.MustTable(tb, gate.Options{})
	s = storetest.MustOpen(tb, func(o *sqlite.Options) { o.Table = table })
	engram := alice.Engram(bob, 0, "mem/a")
	evs := []*nostr.Event{engram}
	for i := range 600 {
		evs = append(evs, carol.Note(int64(i), prose(i, 165)))
	}
	var last store.Pending
	for _, ev := range evs {
		p, err := s.Begin(tb.Context(), ev, store.PutOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		last = p
	}
	last.Wait()
	ask := func(f nostr.Filter) store.Ask {
		scope, err := table.ScopeFor(gate.NewReader(alice.Pub), f)
		if err != nil {
			tb.Fatal(err)
		}
		return store.Ask{Scope: scope, Filter: f, MaxRows: 500}
	}
	return s, ask(nostr.Filter{Kinds: []int{1}, Authors: []string{carol.Pub}}),
		ask(nostr.Filter{Kinds: []int{30174}, Authors: []string{alice.Pub},
			Tags: nostr.TagMap{"d": {engram.Tags.GetD()}, "p": {bob.Pub}}})
}

// toBytes answers a query as frames in buf and returns how many there are.
func toBytes(tb testing.TB, s *sqlite.Store, ask store.Ask, buf *[]byte) int {
	page, err := s.Query(tb.Context(), ask)
	if err != nil {
		tb.Fatal(err)
	}
	*buf = (*buf)[:0]
	for i := range page.Rows {
		*buf = wire.AppendEventFrame(*buf, "sub", page.Rows[i].JSON)
	}
	return len(page.Rows)
}

func TestReadAllocations(t *testing.T) {
	s, page, head := smallWorld(t)
	var buf []byte
	count := func(ask store.Ask, rows int) float64 {
		return testing.AllocsPerRun(50, func() {
			if n := toBytes(t, s, ask, &buf); n != rows {
				t.Fatalf("%d rows, want %d", n, rows)
			}
		})
	}
	if n, most := count(head, 1), allocBound(maxHead); n > most {
		t.Errorf("reading a head allocates %v times, at most %v are needed", n, most)
	}
	if n, most := count(page, 500)/500, allocBound(maxRow); n > most {
		t.Errorf("each of 500 rows allocates %v times, at most %v are needed", n, most)
	}
	if n, most := testing.AllocsPerRun(100, func() { plan(t, s, head) }), allocBound(maxPlan); n > most {
		t.Errorf("planning the read of a head allocates %v times, at most %v are needed", n, most)
	}
}

// plan makes the statement that answers an ask.
func plan(tb testing.TB, s *sqlite.Store, ask store.Ask) {
	if text, err := query.PlanQuery(s, ask); err != nil || text == "" {
		tb.Fatalf("%q, %v", text, err)
	}
}

// BenchmarkPlan turns a filter and a scope into a statement.
func BenchmarkPlan(b *testing.B) {
	s, page, head := smallWorld(b)
	for name, ask := range map[string]store.Ask{"author": page, "head": head} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plan(b, s, ask)
			}
		})
	}
}

// BenchmarkQueryToBytes answers a query as the frames that a client is sent.
func BenchmarkQueryToBytes(b *testing.B) {
	s, page, head := smallWorld(b)
	for rows, ask := range map[int]store.Ask{500: page, 1: head} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				if n := toBytes(b, s, ask, &buf); n != rows {
					b.Fatalf("%d rows, want %d", n, rows)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}
