package events_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/sys/unix"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// benchWorld is a store of ENGRAMD_BENCH_EVENTS events (default 10,000): half
// notes of 500 authors, of which 1,000 (or all) have the tag t=rare and the
// word "zebra"; the other half engrams, 5,000 (or half of them) by one agent.
// With ENGRAMD_BENCH_DB it is kept in that file and loaded once.
type benchWorld struct {
	store        *sqlite.Store
	table        *gate.Table
	agent, owner storetest.Key
	authors      []string
	slugs        int
}

func newBenchWorld(b *testing.B) *benchWorld {
	b.Helper()
	size := 10_000
	if text := os.Getenv("ENGRAMD_BENCH_EVENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatalf("ENGRAMD_BENCH_EVENTS: %v", err)
		}
		size = n
	}
	w := &benchWorld{agent: storetest.NewKey("agent"), owner: storetest.NewKey("owner")}
	w.table = storetest.MustTable(b, gate.Options{Wildcard: gate.WildcardExclude})
	w.store = storetest.MustOpen(b, func(o *sqlite.Options) {
		o.Table = w.table
		o.Path = cmp.Or(os.Getenv("ENGRAMD_BENCH_DB"), o.Path)
	})
	w.slugs = min(5000, size/4)
	w.load(b, size, w.store.LastSeq() > 0)
	database, wal := w.store.Sizes()
	b.Logf("%d events, database %d MiB, wal %d MiB", size, database>>20, wal>>20)
	return w
}

func (w *benchWorld) load(b *testing.B, size int, loaded bool) {
	rng := rand.New(rand.NewPCG(1, 2))
	people := make([]storetest.Key, 500)
	for i := range people {
		people[i] = storetest.NewKey(fmt.Sprint("author", i))
		w.authors = append(w.authors, people[i].Pub)
	}
	if loaded {
		return
	}
	others := people[:100]
	var waiting []store.Pending
	every := max(1, size/2/1000)
	for i := range size {
		var ev *nostr.Event
		at := int64(i - size)
		switch {
		case i%2 == 0:
			tags := []nostr.Tag{{"t", fmt.Sprint("topic", rng.IntN(50))}}
			text := fmt.Sprintf("%0200d giraffe", i)
			if i/2%every == 0 {
				tags, text = append(tags, nostr.Tag{"t", "rare"}), text+" zebra"
			}
			ev = people[rng.IntN(len(people))].Note(at, text, tags...)
		case i/2*w.slugs/(size/2) != (i/2+1)*w.slugs/(size/2):
			ev = w.agent.Engram(w.owner, at, fmt.Sprint(i/2*w.slugs/(size/2)))
		default:
			ev = others[rng.IntN(len(others))].Engram(w.owner, at, fmt.Sprint(i))
		}
		p, err := w.store.Begin(b.Context(), ev, store.PutOptions{})
		if err != nil {
			b.Fatal(err)
		}
		waiting = append(waiting, p)
	}
	for _, p := range waiting {
		if r := p.Wait(); r.Outcome != store.Stored && r.Outcome != store.Replaced {
			b.Fatalf("put: %+v", r)
		}
	}
}

// all pages through an answer and returns the rows.
func (w *benchWorld) all(b *testing.B, r gate.Reader, f nostr.Filter, limit int) int {
	scope, err := w.table.ScopeFor(r, f)
	if err != nil {
		b.Fatal(err)
	}
	ask := store.Ask{Scope: scope, Filter: f, MaxRows: min(limit, 500)}
	n := 0
	for {
		page, err := w.store.Query(b.Context(), ask)
		if err != nil {
			b.Fatal(err)
		}
		n += len(page.Rows)
		if !page.More || n >= limit {
			return n
		}
		last := page.Rows[len(page.Rows)-1]
		ask.After = &store.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// cpuTime is the processor time of this process in nanoseconds: it tells more
// than the clock on a machine that does other things too.
func cpuTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkRead(b *testing.B) {
	w := newBenchWorld(b)
	me := gate.NewReader(w.agent.Pub)
	engrams := func(f nostr.Filter) nostr.Filter {
		f.Kinds, f.Authors = []int{30174}, []string{w.agent.Pub}
		if f.Tags == nil {
			f.Tags = nostr.TagMap{}
		}
		f.Tags["p"] = []string{w.owner.Pub}
		return f
	}
	query := func(name string, r gate.Reader, limit int, f func(i int) nostr.Filter) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			rows, i, cpu := 0, 0, cpuTime(b)
			for b.Loop() {
				rows += w.all(b, r, f(i), limit)
				i++
			}
			b.ReportMetric(float64(rows)/float64(b.N), "rows/op")
			b.ReportMetric(float64(cpuTime(b)-cpu)/float64(max(rows, 1)), "cpu-ns/row")
		})
	}
	fixed := func(f nostr.Filter) func(int) nostr.Filter { return func(int) nostr.Filter { return f } }
	heads := make([]string, w.slugs)
	for i := range heads {
		heads[i] = w.agent.Engram(w.owner, 0, fmt.Sprint(i)).Tags.GetD()
	}
	query("head", me, 1, func(i int) nostr.Filter {
		return engrams(nostr.Filter{Tags: nostr.TagMap{"d": heads[i*7919%len(heads) : i*7919%len(heads)+1]}})
	})
	query("list", me, 5000, fixed(engrams(nostr.Filter{})))
	query("kind", me, 500, fixed(nostr.Filter{Kinds: []int{1}}))
	query("kinds3", me, 500, fixed(nostr.Filter{Kinds: []int{1, 6, 7}}))
	query("author", me, 500, fixed(nostr.Filter{Kinds: []int{1}, Authors: w.authors[:1]}))
	query("authors10", me, 500, fixed(nostr.Filter{Kinds: []int{1}, Authors: w.authors[:10]}))
	query("authors300", me, 500, fixed(nostr.Filter{Kinds: []int{1}, Authors: w.authors[:300]}))
	query("topic", me, 500, fixed(nostr.Filter{Tags: nostr.TagMap{"t": {"topic1"}}}))
	query("time", gate.NewReader(), 500, fixed(nostr.Filter{}))
	query("mine", me, 500, fixed(nostr.Filter{Authors: []string{w.agent.Pub}}))
	count := func(name string, f nostr.Filter) {
		b.Run("count/"+name, func(b *testing.B) {
			scope, err := w.table.ScopeFor(me, f)
			if err != nil {
				b.Fatal(err)
			}
			var n int64
			cpu := cpuTime(b)
			for b.Loop() {
				if n, err = w.store.Count(b.Context(), []store.Ask{{Scope: scope, Filter: f}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n), "matches")
			b.ReportMetric(float64(cpuTime(b)-cpu)/float64(b.N), "cpu-ns/op")
		})
	}
	count("rare", nostr.Filter{Kinds: []int{1}, Tags: nostr.TagMap{"t": {"rare"}}})
	count("author", nostr.Filter{Kinds: []int{1}, Authors: w.authors[:1]})
	count("list", engrams(nostr.Filter{}))
	count("kind", nostr.Filter{Kinds: []int{1}})
	w.benchSearch(b, me)
}

func (w *benchWorld) benchSearch(b *testing.B, r gate.Reader) {
	for _, word := range []string{"zebra", "giraffe"} {
		b.Run("search/"+word, func(b *testing.B) {
			if !w.store.SearchEnabled() {
				b.Skip("built without full-text search")
			}
			f := nostr.Filter{Search: word, Kinds: []int{1}}
			scope, err := w.table.ScopeFor(r, f)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				hits, err := w.store.Search(b.Context(), store.Ask{Scope: scope, Filter: f, MaxRows: 500})
				if err != nil {
					b.Fatal(err)
				}
				if page, err := hits.Next(b.Context(), 500, 0); err != nil || len(page.Rows) != 500 {
					b.Fatal(len(page.Rows), err)
				}
			}
		})
	}
}
