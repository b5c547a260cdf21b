package contracts

import (
	"fmt"
	"sync/atomic"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// longThread returns a contract with n shared entries and n/10 private ones of
// the poster.
func longThread(tb testing.TB, n int) (w *world, posts, works Caller, id string) {
	tb.Helper()
	w = newWorld(tb)
	posts, works = w.provision("anna", anna), w.provision("will", will)
	id = w.create(posts, works.PubKey).ContractID // without a deadline, for the clock goes far
	w.clock.Add(second)
	wantCode(tb, "accept", w.move(works, id, niptemp.Accepted), 0)
	pending := make([]store.Pending, 0, n)
	for i := range n {
		w.clock.Add(second)
		k, to := anna, will.Pub
		if i%2 == 1 {
			k, to = will, anna.Pub
		}
		p, err := w.store.Begin(tb.Context(), w.entryOf(k, id, to, niptemp.EntryTypes()[i%5], fmt.Sprintf("entry number %d of a long thread about filings", i)), store.PutOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		pending = append(pending, p)
	}
	for _, p := range pending {
		if r := p.Wait(); !r.Outcome.OK() {
			tb.Fatal(r)
		}
	}
	for i := range n / 10 {
		w.say(posts, id, "note", PosterOnly, fmt.Sprintf("private thought %d", i))
	}
	return w, posts, works, id
}

// BenchmarkThread asks a thread of 10,000 shared and 1,000 private entries.
func BenchmarkThread(b *testing.B) {
	w, posts, works, id := longThread(b, 10_000)
	for name, fn := range map[string]func() error{
		"first page": func() error { return errOf(w.Entries(b.Context(), posts, id, EntryQuery{})) },
		"last page":  func() error { return errOf(w.Entries(b.Context(), posts, id, EntryQuery{Offset: 10_950})) },
		"one type":   func() error { return errOf(w.Entries(b.Context(), works, id, EntryQuery{Type: "deliverable"})) },
		"summary":    func() error { return errOf(w.Summary(b.Context(), posts, id)) },
		"search":     func() error { return errOf(w.Search(b.Context(), posts, id, SearchRequest{Query: "number 9999"})) },
		"contract":   func() error { return errOf(w.Get(b.Context(), posts, id)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := fn(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, vis := range map[string]Visibility{"say shared": Shared, "say private": WorkerOnly} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w.clock.Add(second)
				if _, err := w.Say(b.Context(), works, id, EntryRequest{Type: "message", Visibility: vis, Content: "x"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("50 readers of a page", func(b *testing.B) {
		b.SetParallelism(25)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := w.Entries(b.Context(), Caller{}, id, EntryQuery{}); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// manyContracts makes n contracts of one poster with one worker.
func manyContracts(tb testing.TB, n int) (*world, Caller) {
	tb.Helper()
	w := newWorld(tb)
	pending := make([]store.Pending, 0, n)
	for i := range n {
		w.clock.Add(second)
		p, err := w.store.Begin(tb.Context(), w.stateOf(anna, fmt.Sprint("contract-", i), will.Pub, niptemp.Open, "", "one of many"), store.PutOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		pending = append(pending, p)
	}
	for _, p := range pending {
		if r := p.Wait(); !r.Outcome.OK() {
			tb.Fatal(r)
		}
	}
	return w, w.provision("will", will)
}

// BenchmarkContracts lists contracts of a caller who has 10,000.
func BenchmarkContracts(b *testing.B) {
	w, works := manyContracts(b, 10_000)
	for name, q := range map[string]ContractQuery{"first page": {}, "last page": {Offset: 9_950}, "by status": {Status: niptemp.Open}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.List(b.Context(), works, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	var next atomic.Int64
	b.Run("50 writers accept", func(b *testing.B) {
		w.clock.Add(second)
		b.SetParallelism(25)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				i := next.Add(1)
				if i >= 10_000 {
					continue
				}
				if err := w.move(works, fmt.Sprint("contract-", i), niptemp.Accepted); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// TestLongThread pages through a thread and finds each entry once, in order.
func TestLongThread(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	const n = 1000
	w, posts, _, id := longThread(t, n)
	seen := map[string]bool{}
	last := storetest.Start
	for offset := 0; ; offset += 333 {
		page := must[EntryPage](t)(w.Entries(t.Context(), posts, id, EntryQuery{Limit: 333, Offset: offset}))
		if page.Total != n+n/10 {
			t.Fatalf("total %d", page.Total)
		}
		for _, e := range page.Entries {
			if seen[e.EntryID] || e.CreatedAt.Before(last) {
				t.Fatalf("entry %s comes twice or too late", e.EntryID)
			}
			seen[e.EntryID], last = true, e.CreatedAt
		}
		if len(page.Entries) < 333 {
			break
		}
	}
	if len(seen) != n+n/10 {
		t.Errorf("%d entries", len(seen))
	}
	found := must[SearchPage](t)(w.Search(t.Context(), posts, id, SearchRequest{Query: "FILINGS thread,", Limit: 10, Offset: 20, Type: "message"}))
	if found.Total != n/5 || len(found.Entries) != 10 || found.Entries[0].Type != "message" {
		t.Errorf("finds %d, shows %d", found.Total, len(found.Entries))
	}
	if found = must[SearchPage](t)(w.Search(t.Context(), posts, id, SearchRequest{Query: "private 77"})); found.Total != 1 {
		t.Errorf("finds %d private ones", found.Total)
	}
	if found = must[SearchPage](t)(w.Search(t.Context(), holder(mara), id, SearchRequest{Query: "private"})); found.Total != 0 {
		t.Errorf("a stranger finds %d", found.Total)
	}
	wantCode(t, "search by nobody", errOf(w.Search(t.Context(), Caller{}, id, SearchRequest{Query: "filings"})), Unauthenticated)
	for _, query := range []string{"", " ?! ", string(make([]byte, 2000))} {
		wantCode(t, "search for "+query[:min(3, len(query))], errOf(w.Search(t.Context(), posts, id, SearchRequest{Query: query})), Invalid)
	}
}
