package contracts_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/contracts"
	"engramd/internal/relay/store/sqlite/storetest"
)

// said is an entry as the test remembers it.
type said struct {
	author, other string
	at            int64
	id            []byte
	form          store.EntryForm
	kind          string
	withdrawn     bool
}

var entryKinds = []string{"note", "message", "deliverable"}

// randomThread writes n entries into the contract "c" of Alice with Bob:
// shared, encrypted, private, not taken by the relay, of times in no order;
// some are withdrawn again. They are returned as they came.
func randomThread(t *testing.T, s *sqlite.Store, rng *rand.Rand, n int) (out []said) {
	t.Helper()
	start := storetest.Start.Unix()
	put(t, s, contractOpen(alice, "c", alice.Pub, start-1002), store.Stored)
	put(t, s, contractOpen(alice, "c", bob.Pub, start-1001), store.Replaced)
	put(t, s, contractEvent(bob, 30091, "c", alice.Pub, start-1000, `{"contract_id":"c","status":"accepted","previous_status":"open"}`), store.Stored)
	for i := range n {
		k, to := alice, []string{bob.Pub, alice.Pub}[rng.IntN(2)]
		if rng.IntN(2) == 0 {
			k, to = bob, alice.Pub
		}
		e := said{author: k.Pub, other: to, at: start - 900 + rng.Int64N(300), kind: entryKinds[rng.IntN(3)]}
		e.id = fmt.Appendf(nil, "%06d", i)
		row := store.ThreadEntry{Author: e.author, Other: e.other, CreatedAt: e.at, ID: e.id, Type: e.kind, Entry: fmt.Sprintf("mem_%012x", i), Data: []byte("x")}
		switch rng.IntN(4) {
		case 0:
			e.form = store.EntryPrivate
			if err := s.Tell(t.Context(), store.AddPrivateEntry{Contract: "c", Entry: row, Most: 1000}); err != nil {
				t.Fatal(err)
			}
		case 1:
			e.form = store.EntryForm(rng.IntN(2))
			row.Form = e.form
			if err := s.Tell(t.Context(), store.AddWaitingEntry{Contract: "c", Entry: row}); err != nil {
				t.Fatal(err)
			}
		default:
			ev := contractEvent(k, 30090, "c", to, e.at, fmt.Sprintf(`{"type":%q,"content":"%d"}`, e.kind, i), nostr.Tag{"t", e.kind})
			if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
				t.Fatal(r)
			}
			e.id = idBytes(t, ev.ID)
			if rng.IntN(5) == 0 {
				put(t, s, contractEvent(k, 5, "x", to, start, "", nostr.Tag{"e", ev.ID}), store.Stored)
				e.withdrawn = true
			}
		}
		out = append(out, e)
	}
	return out
}

func idBytes(t *testing.T, id string) []byte {
	t.Helper()
	var b []byte
	if _, err := fmt.Sscanf(id, "%x", &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// shows is the rule of who sees what, told in another way than the store's.
func shows(th store.Thread, e said) bool {
	switch {
	case e.withdrawn && !th.Whole,
		e.form == store.EntryPrivate && th.Reader != e.author,
		e.form == store.EntrySealed && !th.Party,
		th.Type != "" && th.Type != e.kind,
		th.Author != "" && th.Author != e.author,
		th.Private != nil && *th.Private != (e.form == store.EntryPrivate):
		return false
	}
	return true
}

// TestThreadCountsAreExact compares totals, pages from either end and
// summaries, for every reader and filter, with what the entries say; what is
// not the reader's shows in no number.
func TestThreadCountsAreExact(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	all := randomThread(t, s, rand.New(rand.NewPCG(7, 7)), 160)
	wantWhole(t, s)
	yes, no := true, false
	for _, reader := range []store.Thread{{}, {Party: true}, {Party: true, Whole: true, Reader: alice.Pub}, {Whole: true}, {Party: true, Reader: bob.Pub}, {Reader: carol.Pub}} {
		for _, private := range []*bool{nil, &yes, &no} {
			for _, kind := range append(entryKinds, "", "none") {
				for _, author := range []string{"", alice.Pub, bob.Pub, carol.Pub} {
					th := reader
					th.Contract, th.Poster, th.Worker = "c", alice.Pub, bob.Pub
					th.Private, th.Type, th.Author = private, kind, author
					wantThread(t, s, th, slices.DeleteFunc(slices.Clone(all), func(e said) bool { return !shows(th, e) }))
				}
			}
		}
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, s)
	for _, k := range []storetest.Key{alice, bob} {
		put(t, s, contractEvent(k, 62, "x", bob.Pub, clock.Now().Unix(), "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, s, "contract_counts"); n != 0 {
		t.Errorf("%d counters outlive the entries", n)
	}
}

// wantThread wants a thread to show exactly these entries.
func wantThread(t *testing.T, s *sqlite.Store, th store.Thread, want []said) {
	t.Helper()
	for offset := 0; offset <= len(want)+1; offset += 1 + len(want)/3 {
		for _, limit := range []int{1, 7, 500} {
			page, total, err := s.ThreadPage(t.Context(), th, limit, offset, 1<<20)
			if err != nil || total != len(want) {
				t.Fatalf("%+v: total %d, want %d (%v)", th, total, len(want), err)
			}
			if few, _, err := s.ThreadPage(t.Context(), th, limit, offset, 600); err != nil || !startsPage(page, few, 600) {
				t.Fatalf("%+v: of the %d from %d on, 600 bytes are %d (%v)", th, limit, offset, len(few), err)
			}
			part := want[min(offset, len(want)):min(offset+limit, len(want))]
			if !slices.EqualFunc(page, part, func(a store.ThreadEntry, b said) bool {
				return bytes.Equal(a.ID, b.id) && a.Author == b.author && a.Form == b.form && len(a.Data) > 0
			}) {
				t.Fatalf("%+v: the page of %d from %d on is another", th, limit, offset)
			}
		}
	}
	groups, err := s.ThreadGroups(t.Context(), th)
	n, first, last := 0, int64(1)<<60, int64(0)
	for _, g := range groups {
		n, first, last = n+g.Count, min(first, g.First), max(last, g.Last)
	}
	at := make([]int64, len(want))
	for i, e := range want {
		at[i] = e.at
	}
	if err != nil || n != len(want) || n > 0 && (first != slices.Min(at) || last != slices.Max(at)) {
		t.Fatalf("%+v: %d counted from %d to %d, want %d (%v)", th, n, first, last, len(want), err)
	}
}

// startsPage reports whether few are the first of a page, as many as bring
// their data to so many bytes.
func startsPage(page, few []store.ThreadEntry, bytes int) bool {
	for i, e := range page {
		if bytes <= 0 {
			return len(few) == i
		}
		if i >= len(few) || !slices.Equal(few[i].ID, e.ID) {
			return false
		}
		bytes -= len(e.Data)
	}
	return len(few) == len(page)
}

// TestThreadNextGoesOn reads a thread by pieces of many sizes, each entry once.
func TestThreadNextGoesOn(t *testing.T) {
	s := storetest.MustOpen(t)
	all := randomThread(t, s, rand.New(rand.NewPCG(3, 3)), 100)
	th := store.Thread{Contract: "c", Poster: alice.Pub, Worker: bob.Pub, Party: true, Reader: alice.Pub}
	want, _, err := s.ThreadPage(t.Context(), th, 500, 0, 1<<20)
	if err != nil || len(want) < len(all)/2 {
		t.Fatalf("%d entries of %d, %v", len(want), len(all), err)
	}
	for _, piece := range [][2]int{{1, 1 << 20}, {7, 1 << 20}, {500, 1}, {500, 700}, {3, 700}, {500, 1 << 20}} {
		var after *store.ThreadEntry
		n := 0
		for {
			rows, err := s.ThreadNext(t.Context(), th, after, piece[0], piece[1])
			if err != nil || !startsPage(want[n:min(n+piece[0], len(want))], rows, piece[1]) {
				t.Fatalf("%v from %d: %d entries, %v", piece, n, len(rows), err)
			}
			if n += len(rows); len(rows) == 0 {
				break
			}
			after = &rows[len(rows)-1]
		}
		if n != len(want) {
			t.Errorf("%v: %d entries, want %d", piece, n, len(want))
		}
	}
}

// TestCheckCountsThreads wants Check to see a counter that is wrong.
func TestCheckCountsThreads(t *testing.T) {
	s := storetest.MustOpen(t)
	randomThread(t, s, rand.New(rand.NewPCG(1, 1)), 10)
	wantWhole(t, s)
	if _, err := storetest.OnWriter(contracts.DB(s), "UPDATE contract_counts SET n = n + 1"); err != nil {
		t.Fatal(err)
	}
	report, err := s.Check(t.Context())
	if err != nil || len(report.Problems) == 0 || report.Problems[0].Check != "threads" {
		t.Errorf("%+v, %v", report.Problems, err)
	}
}
