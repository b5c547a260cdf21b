package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// open makes a relay over a fresh store.
func open(t *testing.T, change ...func(*sqlite.Options)) (*Relay, *sqlite.Store) {
	t.Helper()
	names, err := NewNames(nil, netip.MustParseAddrPort("127.0.0.1:7447"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Names: names, Clock: storetest.NewClock().Now}, storetest.MustTable(t, gate.Options{Wildcard: gate.WildcardExclude}))
	if err != nil {
		t.Fatal(err)
	}
	// Registered first and so run last: the store must have committed its last
	// batch.
	t.Cleanup(r.Close)
	s := storetest.MustOpen(t, append(change, func(o *sqlite.Options) { o.OnCommit = r.Committed })...)
	if err := r.Attach(s); err != nil {
		t.Fatal(err)
	}
	return r, s
}

func granted(t *testing.T, r *Relay, reader gate.Reader, filters ...nostr.Filter) []Granted {
	t.Helper()
	g, err := r.Authorize(WithReader(context.Background(), reader), gate.SurfaceReq, filters)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// drain reads a stream to its end in pages of the given size.
func drain(t *testing.T, st *Stream, rows int) []store.Row {
	t.Helper()
	var all []store.Row
	for range 100_000 {
		page, done, err := st.Next(context.Background(), rows, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > rows {
			t.Fatalf("a page of %d rows, %d asked", len(page), rows)
		}
		all = append(all, page...)
		if done {
			return all
		}
	}
	t.Fatal("the stream does not end")
	return nil
}

func TestStoredMergesFiltersNewestFirstEachEventOnce(t *testing.T) {
	r, s := open(t)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	keys := []storetest.Key{storetest.NewKey("a"), storetest.NewKey("b"), storetest.NewKey("c")}
	var events []*nostr.Event
	for i := range 300 {
		ev := keys[rng.IntN(3)].Fake(1+rng.IntN(3), rng.Int64N(40), fmt.Sprint("note ", i))
		if res := s.Put(context.Background(), ev, store.PutOptions{}); res.Err != nil {
			t.Fatalf("%v %v", res.Outcome, res.Err)
		}
		events = append(events, ev)
	}
	events = heads(events)
	for round := range 40 {
		filters := make([]nostr.Filter, 1+rng.IntN(3))
		for i := range filters {
			filters[i] = nostr.Filter{Kinds: []int{1 + rng.IntN(3), 1 + rng.IntN(3)}, Limit: 1 + rng.IntN(200)}
			if rng.IntN(2) == 0 {
				filters[i].Authors = []string{keys[rng.IntN(3)].Pub}
			}
		}
		want := expected(events, filters)
		rows := drain(t, r.Stored(granted(t, r, gate.Reader{}, filters...), r.Now()), 1+rng.IntN(60))
		var got []string
		for _, row := range rows {
			got = append(got, fmt.Sprintf("%x", row.ID))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("round %d, filters %v:\ngot  %d %v\nwant %d %v", round, filters, len(got), got, len(want), want)
		}
	}
}

// heads drops superseded versions of kind 3, as the store does.
func heads(events []*nostr.Event) []*nostr.Event {
	var out []*nostr.Event
	for _, ev := range events {
		newer := func(other *nostr.Event) bool {
			return ev.Kind == 3 && other.Kind == 3 && other.PubKey == ev.PubKey &&
				(other.CreatedAt > ev.CreatedAt || other.CreatedAt == ev.CreatedAt && other.ID < ev.ID)
		}
		if !slices.ContainsFunc(events, newer) {
			out = append(out, ev)
		}
	}
	return out
}

// expected is the slow, obvious answer: each filter cut at its limit, all
// together once, in the order of NIP-01.
func expected(events []*nostr.Event, filters []nostr.Filter) []string {
	order := func(a, b *nostr.Event) int {
		if a.CreatedAt != b.CreatedAt {
			return int(b.CreatedAt - a.CreatedAt)
		}
		return strings.Compare(a.ID, b.ID)
	}
	sorted := slices.SortedFunc(slices.Values(events), order)
	var union []*nostr.Event
	for _, f := range filters {
		n := 0
		for _, ev := range sorted {
			if f.Matches(ev) && n < f.Limit {
				n++
				union = append(union, ev)
			}
		}
	}
	slices.SortFunc(union, order)
	union = slices.CompactFunc(union, func(a, b *nostr.Event) bool { return a.ID == b.ID })
	var ids []string
	for _, ev := range union {
		ids = append(ids, ev.ID)
	}
	return ids
}

func TestStoredSaysWhetherALimitKeptEventsBack(t *testing.T) {
	r, s := open(t)
	key := storetest.NewKey("a")
	for i := range 10 {
		s.Put(context.Background(), key.Note(int64(i), "x"), store.PutOptions{})
	}
	tests := []struct {
		name           string
		filters        []nostr.Filter
		rows           int
		more, complete bool
	}{
		{"all", []nostr.Filter{{Kinds: []int{1}}}, 10, false, true},
		{"exactly the limit", []nostr.Filter{{Kinds: []int{1}, Limit: 10}}, 10, false, true},
		{"one less", []nostr.Filter{{Kinds: []int{1}, Limit: 9}}, 9, true, false},
		{"limit 0", []nostr.Filter{{Kinds: []int{1}, LimitZero: true}}, 0, false, false},
		{"nothing there", []nostr.Filter{{Kinds: []int{7}}}, 0, false, true},
		{"two filters, one cut", []nostr.Filter{{Kinds: []int{1}, Limit: 3}, {Kinds: []int{7}}}, 3, true, false},
		{"two filters, all", []nostr.Filter{{Kinds: []int{1}}, {Authors: []string{key.Pub}}}, 10, false, true},
	}
	for _, tt := range tests {
		for _, page := range []int{1, 3, 100} {
			t.Run(fmt.Sprintf("%s by %d", tt.name, page), func(t *testing.T) {
				st := r.Stored(granted(t, r, gate.Reader{}, tt.filters...), r.Now())
				rows := drain(t, st, page)
				if len(rows) != tt.rows || st.More() != tt.more || st.Complete() != tt.complete {
					t.Fatalf("%d rows, more %v, complete %v", len(rows), st.More(), st.Complete())
				}
			})
		}
	}
}

// A head that is replaced after the instant a request is about, or between two
// of its pages, is not lost: the answer holds the old version or the new one,
// and nothing twice.
func TestReplacedHeadsAreNotLost(t *testing.T) {
	author := storetest.NewKey("a")
	article := func(at int64, d, text string) *nostr.Event {
		return author.Fake(30023, at, text, nostr.Tag{"d", d})
	}
	const heads = 10
	tests := []struct {
		name    string
		filters []nostr.Filter
		page    int
		rows    int // at most
	}{
		{"at once", []nostr.Filter{{Kinds: []int{30023}}}, 100, heads},
		{"in pages", []nostr.Filter{{Kinds: []int{30023}}}, 3, 2 * heads},
		{"two filters", []nostr.Filter{{Kinds: []int{30023}}, {Authors: []string{author.Pub}}}, 3, 2 * heads},
		{"apart", []nostr.Filter{
			{Kinds: []int{30023}, Tags: nostr.TagMap{"d": {"0", "1", "2", "3", "4"}}},
			{Kinds: []int{30023}, Tags: nostr.TagMap{"d": {"5", "6", "7", "8", "9"}}},
		}, 100, 2 * heads},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, s := open(t)
			put := func(ev *nostr.Event) {
				t.Helper()
				if res := s.Put(t.Context(), ev, store.PutOptions{}); res.Err != nil {
					t.Fatal(res.Err)
				}
			}
			for i := range heads {
				put(article(int64(i), fmt.Sprint(i), "old"))
			}
			st := r.Stored(granted(t, r, gate.Reader{}, tt.filters...), r.Now())
			found, ids := map[string]bool{}, map[[32]byte]bool{}
			for round, done := 0, false; !done; round++ {
				// Each is replaced before its page is read.
				if round < 3 {
					put(article(int64(100+round), fmt.Sprint(round), "new"))
				}
				var rows []store.Row
				var err error
				if rows, done, err = st.Next(t.Context(), tt.page, 1<<20); err != nil {
					t.Fatal(err)
				}
				for _, row := range rows {
					if ids[row.ID] {
						t.Errorf("%x came twice", row.ID)
					}
					ids[row.ID] = true
					ev, err := wire.ParseEvent(row.JSON)
					if err != nil {
						t.Fatal(err)
					}
					found[ev.Tags.GetD()] = true
				}
			}
			if len(found) != heads || len(ids) > tt.rows || st.More() || !st.Complete() {
				t.Errorf("%d of %d heads, %d rows, more %v, complete %v", len(found), heads, len(ids), st.More(), st.Complete())
			}
		})
	}
}

// An empty relay has an end to every answer.
func TestNothingIsReadToItsEnd(t *testing.T) {
	r, _ := open(t)
	for n := range 4 {
		if rows := drain(t, r.Stored(granted(t, r, gate.Reader{}, slices.Repeat([]nostr.Filter{{Kinds: []int{1}}}, n)...), r.Now()), 10); len(rows) > 0 {
			t.Errorf("%d filters: %d rows", n, len(rows))
		}
	}
}

// What arrives while a stream is read takes no more room than the limit leaves.
func TestLateArrivalsKeepToTheLimit(t *testing.T) {
	for _, tt := range []struct {
		limit, rows int
		more        bool
	}{{5, 5, true}, {8, 8, true}, {40, 30, false}} {
		t.Run(fmt.Sprint(tt.limit), func(t *testing.T) {
			r, s := open(t)
			key := storetest.NewKey("a")
			n := 0
			notes := func(more int) {
				for range more {
					s.Put(t.Context(), key.Note(int64(n), fmt.Sprint("note ", n)), store.PutOptions{})
					n++
				}
			}
			notes(6)
			st := r.Stored(granted(t, r, gate.Reader{}, nostr.Filter{Kinds: []int{1}, Limit: tt.limit}), r.Now())
			seen := map[[32]byte]bool{}
			for done := false; !done; {
				var rows []store.Row
				var err error
				if rows, done, err = st.Next(t.Context(), 2, 1<<20); err != nil {
					t.Fatal(err)
				}
				for _, row := range rows {
					if seen[row.ID] {
						t.Errorf("%x came twice", row.ID)
					}
					seen[row.ID] = true
				}
				notes(min(3, 30-n))
			}
			if len(seen) != tt.rows || st.More() != tt.more {
				t.Errorf("%d rows, more %v; want %d, %v", len(seen), st.More(), tt.rows, tt.more)
			}
		})
	}
}

func TestMaximumAndDefaultLimit(t *testing.T) {
	r, s := open(t)
	r.SetLimits(Limits{DefaultLimit: 4, MaxLimit: 6})
	key := storetest.NewKey("a")
	for i := range 9 {
		s.Put(context.Background(), key.Note(int64(i), "x"), store.PutOptions{})
	}
	for limit, want := range map[int]int{0: 4, 5: 5, 6: 6, 7: 6, 1 << 40: 6} {
		st := r.Stored(granted(t, r, gate.Reader{}, nostr.Filter{Kinds: []int{1}, Limit: limit}), r.Now())
		if rows := drain(t, st, 100); len(rows) != want || !st.More() {
			t.Errorf("limit %d: %d rows, more %v; want %d", limit, len(rows), st.More(), want)
		}
	}
}

func TestSearchComesFirstAndOnce(t *testing.T) {
	r, s := open(t)
	if !s.SearchEnabled() {
		st := r.Stored(granted(t, r, gate.Reader{}, nostr.Filter{Kinds: []int{1}, Search: "needle"}), r.Now())
		if _, _, err := st.Next(context.Background(), 10, 1<<20); !errors.Is(err, store.ErrNoSearch) {
			t.Fatalf("without FTS5 a search gives %v", err)
		}
		return
	}
	key := storetest.NewKey("a")
	for i := range 10 {
		word := "plain"
		if i%2 == 0 {
			word = "needle"
		}
		s.Put(context.Background(), key.Note(int64(i), word), store.PutOptions{})
	}
	for _, page := range []int{1, 2, 100} {
		st := r.Stored(granted(t, r, gate.Reader{}, nostr.Filter{Kinds: []int{1}, Search: "needle", Limit: 4}, nostr.Filter{Kinds: []int{1}}), r.Now())
		rows := drain(t, st, page)
		if len(rows) != 10 || !st.More() {
			t.Fatalf("by %d: %d rows, more %v", page, len(rows), st.More())
		}
		for i, row := range rows[:4] {
			if !strings.Contains(string(row.JSON), "needle") {
				t.Errorf("by %d: row %d is no search hit", page, i)
			}
		}
	}
}

// A store that fails must not look like an empty one (invariant 3).
func TestFailureIsNoEmptyAnswer(t *testing.T) {
	r, s := open(t)
	s.Put(context.Background(), storetest.NewKey("a").Note(1, "x"), store.PutOptions{})
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	g := granted(t, r, gate.Reader{}, nostr.Filter{Kinds: []int{1}})
	rows, done, err := r.Stored(g, r.Now()).Next(ctx, 10, 1<<20)
	if err == nil || done || len(rows) > 0 {
		t.Fatalf("got %d rows, done %v, err %v", len(rows), done, err)
	}
	if _, err := r.Count(ctx, g); err == nil {
		t.Fatal("a failed COUNT has a number")
	}
	if text := RefusalOf(err).Error(); !strings.HasPrefix(text, "error: ") {
		t.Errorf("RefusalOf = %q", text)
	}
	if text := RefusalOf(errors.New("disk I/O error: /var/lib/secret")).Error(); strings.Contains(text, "secret") {
		t.Errorf("the store's own words reach the client: %q", text)
	}
}

// TestTheClassIsTheTables: an event is stored under its class by the table in
// force, whatever the submission says.
func TestTheClassIsTheTables(t *testing.T) {
	r, _ := open(t)
	agent, owner := storetest.NewKey("agent"), storetest.NewKey("owner")
	ev := agent.Engram(owner, 10, "mem/x")
	if a := r.Submit(WithReader(t.Context(), gate.NewReader(agent.Pub)), Submission{Event: ev, Class: gate.Open}); !a.OK {
		t.Fatal(a.Message())
	}
	for reader, want := range map[string]int{owner.Pub: 1, storetest.NewKey("other").Pub: 0} {
		rows := drain(t, r.Stored(granted(t, r, gate.NewReader(reader), nostr.Filter{Limit: 10}), r.Now()), 10)
		if len(rows) != want {
			t.Errorf("%s sees %d events, want %d", reader, len(rows), want)
		}
	}
}
