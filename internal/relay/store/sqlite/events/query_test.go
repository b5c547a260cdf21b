package events_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// queryAll pages through an answer with at most maxRows a page and returns the
// ids in order.
func queryAll(t *testing.T, s *sqlite.Store, ask store.Ask, maxRows int) (ids []string) {
	t.Helper()
	ask.MaxRows = maxRows
	for _, row := range pages(t, s, ask) {
		ids = append(ids, hex.EncodeToString(row.ID[:]))
	}
	return ids
}

// TestTiesAreExact: thousands of one second, in every way of reading, page by
// page.
func TestTiesAreExact(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	s := storetest.MustOpen(t)
	var ids, authors []string
	keys := make([]storetest.Key, 40)
	for i := range keys {
		keys[i] = storetest.NewKey(fmt.Sprint("tie", i))
		authors = append(authors, keys[i].Pub)
	}
	var waiting []store.Pending
	for i := range 2000 {
		ev := keys[i%len(keys)].Note(0, fmt.Sprint("tie ", i), nostr.Tag{"t", "all"}, nostr.Tag{"t", fmt.Sprint(i % 30)})
		p, err := s.Begin(t.Context(), ev, store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ids, waiting = append(ids, ev.ID), append(waiting, p)
	}
	for _, p := range waiting {
		if r := p.Wait(); r.Outcome != store.Stored {
			t.Fatal(r)
		}
	}
	slices.Sort(ids)
	var topics []string
	for i := range 30 {
		topics = append(topics, fmt.Sprint(i))
	}
	for name, f := range map[string]nostr.Filter{
		"kind":         {Kinds: []int{1}},
		"time":         {},
		"one tag":      {Tags: nostr.TagMap{"t": {"all"}}},
		"few tags":     {Tags: nostr.TagMap{"t": {"all", "1", "2"}}},
		"many tags":    {Tags: nostr.TagMap{"t": topics}},
		"many authors": {Authors: authors},
		"many ids":     {IDs: ids},
	} {
		for _, rows := range []int{97, 700} {
			if got := queryAll(t, s, store.Ask{Filter: f}, rows); !slices.Equal(got, ids) {
				t.Errorf("%s by %d: %d rows, want %d, in order of id", name, rows, len(got), len(ids))
			}
		}
	}
}

// TestPageBytes: a page ends when it holds the bytes asked for, and has at
// least one row, however large.
func TestPageBytes(t *testing.T) {
	s := storetest.MustOpen(t)
	for i := range 40 {
		put(t, s, alice.Note(int64(i/20), strings.Repeat("x", 20_000)+fmt.Sprint(i)), store.Stored)
	}
	for name, f := range map[string]nostr.Filter{
		"merged": {Kinds: []int{1}}, "collected": {Kinds: append(seq(30), 1)},
	} {
		for _, c := range []struct{ bytes, rows int }{{1, 1}, {20_000, 1}, {50_000, 3}, {1 << 20, 40}} {
			page, err := s.Query(t.Context(), store.Ask{Filter: f, MaxBytes: c.bytes})
			if err != nil || len(page.Rows) != c.rows || page.More != (c.rows < 40) {
				t.Errorf("%s, %d bytes: %d rows, more %v (%v); want %d", name, c.bytes, len(page.Rows), page.More, err, c.rows)
			}
		}
	}
}

func seq(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// TestRowsAreAsStored: the bytes that were written, without another look at
// them.
func TestRowsAreAsStored(t *testing.T) {
	var written []store.Committed
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit = func(c []store.Committed) { written = append(written, c...) }
	})
	put(t, s, alice.Note(0, "a \" \\ \n </script> ü \u2028"), store.Stored)
	put(t, s, alice.Engram(bob, 1, "core"), store.Stored)
	for _, f := range []nostr.Filter{{}, {IDs: []string{written[0].Event.ID, written[1].Event.ID}}} {
		page, err := s.Query(t.Context(), store.Ask{Scope: gate.Operator(), Filter: f})
		if err != nil || len(page.Rows) != 2 {
			t.Fatalf("%d rows, %v", len(page.Rows), err)
		}
		for i, row := range page.Rows {
			if want := written[1-i]; string(row.JSON) != string(want.JSON) || row.Seq != want.Seq {
				t.Errorf("row %d: %s", i, row.JSON)
			}
		}
	}
}

// TestExpiryIsExactWhenRead: at the very second, swept or not.
func TestExpiryIsExactWhenRead(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	at := fmt.Sprint(storetest.Start.Unix() + 10)
	put(t, s, alice.Note(0, "soon gone word", nostr.Tag{"expiration", at}), store.Stored)
	ask := store.Ask{Filter: nostr.Filter{Authors: []string{alice.Pub}}}
	for _, c := range []struct {
		wait time.Duration
		want int
	}{{9 * time.Second, 1}, {time.Second, 0}, {time.Hour, 0}} {
		clock.Add(c.wait)
		if got := queryAll(t, s, ask, 10); len(got) != c.want {
			t.Errorf("%v: %d rows, want %d", clock.Now(), len(got), c.want)
		}
		if n, err := s.Count(t.Context(), []store.Ask{ask}); err != nil || int(n) != c.want {
			t.Errorf("%v: count %d (%v), want %d", clock.Now(), n, err, c.want)
		}
	}
}

// TestEmptyListsNeedNoDatabase: they match nothing, even when nothing can be
// read.
func TestEmptyListsNeedNoDatabase(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Note(0, "x"), store.Stored)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	late, early := nostr.Timestamp(2), nostr.Timestamp(1)
	for _, f := range []nostr.Filter{
		{IDs: []string{}}, {Authors: []string{}}, {Kinds: []int{}}, {Tags: nostr.TagMap{"e": {}}},
		{Kinds: []int{1}, IDs: []string{}}, {Since: &late, Until: &early}, {IDs: []string{"abc"}},
	} {
		ask := store.Ask{Filter: f}
		if page, err := s.Query(t.Context(), ask); err != nil || len(page.Rows) > 0 || page.More {
			t.Errorf("query %s: %d rows, %v", f, len(page.Rows), err)
		}
		if n, err := s.Count(t.Context(), []store.Ask{ask}); err != nil || n != 0 {
			t.Errorf("count %s: %d, %v", f, n, err)
		}
	}
	if _, err := s.Query(t.Context(), store.Ask{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("query after close: %v", err)
	}
	if _, err := s.Count(t.Context(), []store.Ask{{}}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("count after close: %v", err)
	}
}

// TestFailuresAreErrors: a time limit or a caller who went away is never an
// empty answer.
func TestFailuresAreErrors(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.QueryTimeout = time.Nanosecond })
	put(t, s, alice.Note(0, "word"), store.Stored)
	put(t, s, alice.Engram(bob, 0, "core"), store.Stored)
	put(t, s, alice.Engram(bob, 1, "core"), store.Replaced)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		want error
	}{{t.Context(), store.ErrTimeout}, {gone, context.Canceled}} {
		ask := store.Ask{Scope: gate.Operator()}
		if page, err := s.Query(c.ctx, ask); !errors.Is(err, c.want) {
			t.Errorf("query: %d rows, %v", len(page.Rows), err)
		}
		if n, err := s.Count(c.ctx, []store.Ask{ask}); !errors.Is(err, c.want) {
			t.Errorf("count: %d, %v", n, err)
		}
		if rows, _, err := s.History(c.ctx, ask.Scope, store.HistoryQuery{Kind: 30174, Author: alice.Pub}); !errors.Is(err, c.want) {
			t.Errorf("history: %d rows, %v", len(rows), err)
		}
		if err := s.Export(c.ctx, ask.Scope, true, nil, func([]byte) error { return nil }); !errors.Is(err, c.want) {
			t.Errorf("export: %v", err)
		}
		if _, err := s.Approved(c.ctx, []string{alice.Pub}, bob.Pub); !errors.Is(err, c.want) {
			t.Errorf("approved: %v", err)
		}
		if s.SearchEnabled() {
			ask.Filter.Search = "word"
			if _, err := s.Search(c.ctx, ask); !errors.Is(err, c.want) {
				t.Errorf("search: %v", err)
			}
		}
	}
}

// TestRunningQueryIsInterrupted: the limit holds for a statement that is under
// way, and the connection is good afterwards.
func TestRunningQueryIsInterrupted(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.QueryTimeout, o.Readers = 20*time.Millisecond, 1 })
	put(t, s, alice.Note(0, "x"), store.Stored)
	endless := "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n"
	if _, err := events.OnReader(t.Context(), s, endless); !errors.Is(err, store.ErrTimeout) {
		t.Fatalf("endless query: %v", err)
	}
	l := store.Live{QueryTimeout: time.Minute}
	if err := s.SetOptions(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if got := queryAll(t, s, store.Ask{}, 10); len(got) != 1 {
		t.Errorf("%d rows after an interrupt", len(got))
	}
}

func TestFilterErrors(t *testing.T) {
	s := storetest.MustOpen(t)
	for _, f := range []nostr.Filter{{Search: "x"}, {Tags: nostr.TagMap{"title": {"x"}}}, {Tags: nostr.TagMap{"": {"x"}}}} {
		if _, err := s.Query(t.Context(), store.Ask{Filter: f}); !errors.Is(err, store.ErrFilter) {
			t.Errorf("%s: %v", f, err)
		}
	}
	many := make([]store.Ask, 20)
	for i := range many {
		values := make([]string, 2000)
		for j := range values {
			values[j] = fmt.Sprint("text", j)
		}
		many[i] = store.Ask{Filter: nostr.Filter{Tags: nostr.TagMap{"t": values}}}
	}
	if n, err := s.Count(t.Context(), many); err != nil || n != 0 {
		t.Errorf("count of 40,000 values: %d, %v", n, err)
	}
	if _, err := s.Count(t.Context(), make([]store.Ask, 500)); !errors.Is(err, store.ErrFilter) {
		t.Errorf("count of 500 filters: %v", err)
	}
}

// TestPagesBesideWrites: while heads are replaced and notes arrive, rows that
// stay are read exactly once, and with what arrived meanwhile every address
// that has a head all the time is found.
func TestPagesBesideWrites(t *testing.T) {
	s := storetest.MustOpen(t)
	stay := map[string]bool{}
	for i := range 300 {
		ev := alice.Note(int64(i/10), fmt.Sprint("stays ", i))
		put(t, s, ev, store.Stored)
		stay[ev.ID] = true
		put(t, s, alice.Engram(bob, int64(i/10), fmt.Sprint("mem/", i)), store.Stored)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			s.Put(t.Context(), alice.Engram(bob, 100+int64(i), fmt.Sprint("mem/", i%300)), store.PutOptions{})
			s.Put(t.Context(), alice.Note(int64(i%30), fmt.Sprint("new ", i)), store.PutOptions{})
		}
	})
	defer wg.Wait()
	defer close(stop)
	for name, f := range map[string]nostr.Filter{
		"author": {Authors: []string{alice.Pub}}, "kinds": {Kinds: []int{1, 30174}}, "time": {}, "many kinds": {Kinds: append(seq(30), 30174)},
	} {
		ask := store.Ask{Scope: gate.Operator(), Filter: f, MaxRows: 37}
		before := s.LastSeq()
		rows := pages(t, s, ask)
		seen := map[string]int{}
		for _, row := range rows {
			seen[hex.EncodeToString(row.ID[:])]++
		}
		for id, n := range seen {
			if n > 1 {
				t.Errorf("%s: %s came %d times", name, id, n)
			}
		}
		for id := range stay {
			if seen[id] != 1 {
				t.Errorf("%s: a note that was there all the time is missing", name)
			}
		}
		ask.MaxRows = 100_000
		ask.Above = before
		rows = append(rows, pages(t, s, ask)...)
		if n := addresses(rows); n != 300 {
			t.Errorf("%s: %d of 300 heads", name, n)
		}
	}
}

// addresses counts the engrams' addresses among rows.
func addresses(rows []store.Row) int {
	ds := map[string]bool{}
	for _, row := range rows {
		if ev, err := wire.ParseEvent(row.JSON); err == nil && ev.Kind == 30174 {
			ds[ev.Tags.GetD()] = true
		}
	}
	return len(ds)
}

// TestHeadIsNeverMissing: while a head is replaced over and over, whoever asks
// for it gets one.
func TestHeadIsNeverMissing(t *testing.T) {
	s := storetest.MustOpen(t)
	first := alice.Engram(bob, 0, "mem/a")
	put(t, s, first, store.Stored)
	d := first.Tags.GetD()
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 400 {
			s.Put(t.Context(), alice.Engram(bob, 1+int64(i), "mem/a"), store.PutOptions{})
		}
		done.Store(true)
	})
	asks := 0
	for ; !done.Load(); asks++ {
		for name, f := range map[string]nostr.Filter{
			"address": {Kinds: []int{30174}, Authors: []string{alice.Pub}, Tags: nostr.TagMap{"d": {d}}},
			"author":  {Authors: []string{alice.Pub}},
			"time":    {},
		} {
			page, err := s.Query(t.Context(), store.Ask{Scope: gate.Operator(), Filter: f})
			if err != nil || len(page.Rows) != 1 {
				t.Errorf("%s, ask %d: %d rows, %v", name, asks, len(page.Rows), err)
			}
			if n, err := s.Count(t.Context(), []store.Ask{{Scope: gate.Operator(), Filter: f}}); err != nil || n != 1 {
				t.Errorf("%s, ask %d: count %d, %v", name, asks, n, err)
			}
		}
	}
	wg.Wait()
	if asks < 10 {
		t.Errorf("only %d asks beside 400 writes: the test proves little", asks)
	}
}

// TestScansLeaveRoom: while scans take all they may have, heads are still read,
// and who counts waits no longer than the time limit.
func TestScansLeaveRoom(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.QueryTimeout = time.Minute })
	limit := func(d time.Duration) {
		t.Helper()
		if err := s.SetOptions(t.Context(), store.Live{QueryTimeout: d}); err != nil {
			t.Fatal(err)
		}
	}
	ev := alice.Note(0, "x")
	put(t, s, ev, store.Stored)
	release := events.HoldScans(s)
	if got := queryAll(t, s, store.Ask{Filter: nostr.Filter{IDs: []string{ev.ID}}}, 10); len(got) != 1 {
		t.Errorf("%d rows", len(got))
	}
	own := nostr.Filter{Authors: []string{alice.Pub}}
	scope, err := storetest.MustTable(t, gate.Options{}).ScopeFor(gate.NewReader(alice.Pub), own)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Count(t.Context(), []store.Ask{{Filter: own, Scope: scope}}); err != nil || n != 1 {
		t.Errorf("count of one's own: %d, %v", n, err)
	}
	limit(50 * time.Millisecond) // what follows waits in vain
	if _, err := s.Count(t.Context(), []store.Ask{{Filter: own}}); !errors.Is(err, store.ErrTimeout) {
		t.Errorf("count: %v", err)
	}
	if s.SearchEnabled() {
		if _, err := s.Search(t.Context(), store.Ask{Filter: nostr.Filter{Search: "x"}}); !errors.Is(err, store.ErrTimeout) {
			t.Errorf("search: %v", err)
		}
	}
	release()
	limit(time.Minute)
	if n, err := s.Count(t.Context(), []store.Ask{{}}); err != nil || n != 1 {
		t.Errorf("count: %d, %v", n, err)
	}
}
