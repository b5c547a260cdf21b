package events_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestQuotaOfEvents(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Quota.Events = 3 })
	notes := []*nostr.Event{alice.Note(0, "a"), alice.Note(1, "b")}
	put(t, s, notes[0], store.Stored)
	put(t, s, notes[1], store.Stored)
	put(t, s, alice.Fake(0, 0, "{}"), store.Stored)
	wantRefused(t, s, alice.Note(3, "d"), "blocked: quota: ")
	put(t, s, notes[1], store.Duplicate)
	put(t, s, alice.Fake(0, 1, "{ }"), store.Replaced) // no more than before
	put(t, s, bob.Note(0, "others are not concerned"), store.Stored)

	// A deletion that frees nothing is refused like anything else, one that
	// does is taken.
	wantRefused(t, s, alice.Delete(4, strings.Repeat("0", 64)), "blocked: quota: ")
	put(t, s, alice.Delete(5, notes[0].ID), store.Stored)
	wantRefused(t, s, alice.Note(6, "still full: the request counts"), "blocked: quota: ")
	put(t, s, alice.Delete(7, notes[1].ID), store.Stored)
	restore(t, s, alice.Note(8, "imports pass"), store.Stored)
	wantRefused(t, s, alice.Note(9, "but count"), "blocked: quota: ")
	put(t, s, alice.Vanish(100), store.Stored)
	put(t, s, alice.Note(101, "room again"), store.Stored)
	wantWhole(t, s)
}

func TestQuotaCountsHistory(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Quota.Events, o.Versions = 3, 2 })
	put(t, s, alice.Engram(bob, 0, "mem/a"), store.Stored)
	put(t, s, alice.Engram(bob, 1, "mem/a"), store.Replaced)
	put(t, s, alice.Engram(bob, 2, "mem/a"), store.Replaced)
	wantRefused(t, s, alice.Engram(bob, 0, "mem/b"), "blocked: quota: ")
	// Pruning makes room in the same write.
	put(t, s, alice.Engram(bob, 3, "mem/a"), store.Replaced)
	if n := rows(t, s, "history"); n != 2 {
		t.Errorf("%d versions", n)
	}
}

func TestQuotaOfBytes(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Quota.Bytes = 2000 })
	big := alice.Note(0, strings.Repeat("x", 1500))
	put(t, s, big, store.Stored)
	wantRefused(t, s, alice.Note(1, strings.Repeat("y", 500)), "blocked: quota: ")
	put(t, s, alice.Delete(2, big.ID), store.Stored)
	put(t, s, alice.Note(3, strings.Repeat("y", 500)), store.Stored)
}

// The counters stay exact through every way in which rows come and go, and
// after an undone write.
func TestQuotaCountersAreExact(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock, o.Quota.Events, o.Versions = clock.Now, 1000, 3 })
	note := alice.Note(0, "gone")
	for i := range int64(6) {
		s.Put(t.Context(), alice.Engram(bob, i, "mem/a"), store.PutOptions{})
		s.Put(t.Context(), alice.Entry(bob, 5-i, "c", "x"), store.PutOptions{})
		s.Put(t.Context(), alice.Fake(0, i, "{}"), store.PutOptions{})
	}
	put(t, s, note, store.Stored)
	put(t, s, alice.Note(1, "x", expires(10)), store.Stored)
	put(t, s, alice.Delete(2, note.ID, storetest.Address(alice.Engram(bob, 0, "mem/a"))), store.Stored)
	put(t, s, alice.Fake(1059, 0, storetest.Payload("w"), nostr.Tag{"p", bob.Pub}), store.Stored)
	put(t, s, bob.Vanish(1), store.Stored)
	clock.Add(11 * 1e9)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantExactUsage(t, s)
	_ = events.FailOnWriter(s) // undoes a transaction; the counters are forgotten or as they were
	put(t, s, alice.Delete(2, note.ID, storetest.Address(alice.Engram(bob, 0, "mem/a"))), store.Duplicate)
	put(t, s, alice.Note(3, "after the failure"), store.Stored)
	wantExactUsage(t, s)
}

// wantExactUsage compares Alice's counters with her rows.
func wantExactUsage(t *testing.T, s *sqlite.Store) {
	t.Helper()
	counted, bytes := events.UsageOf(s, alice.Pub)
	n := int64(rows(t, s, "events WHERE pubkey = x'%s'", alice.Pub) + rows(t, s, "history WHERE pubkey = x'%s'", alice.Pub))
	sum, err := events.OnReader(t.Context(), s, `SELECT (SELECT coalesce(sum(length(json)), 0) FROM events WHERE pubkey = x'`+alice.Pub+
		`') + (SELECT coalesce(sum(length(json)), 0) FROM history WHERE pubkey = x'`+alice.Pub+`')`)
	if err != nil {
		t.Fatal(err)
	}
	if counted != n || bytes != sum[0] {
		t.Errorf("counted %d events, %d bytes; there are %d, %d", counted, bytes, n, sum[0])
	}
}

func TestQuotaChangesWhileOpen(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Note(0, "a"), store.Stored)
	put(t, s, alice.Note(1, "b"), store.Stored)
	if err := s.SetOptions(t.Context(), store.Live{Quota: store.Quota{Events: 2}}); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, s, alice.Note(2, "c"), "blocked: quota: ")
	if err := s.SetOptions(t.Context(), store.Live{}); err != nil {
		t.Fatal(err)
	}
	put(t, s, alice.Note(2, "c"), store.Stored)
}

// A default quota lets nobody cross it, and does not hold who is above it
// already; one that is configured holds everybody.
func TestDefaultQuotaHoldsNobodyAboveIt(t *testing.T) {
	s := storetest.MustOpen(t)
	for i := range int64(4) {
		put(t, s, alice.Note(i, "before the upgrade"), store.Stored)
	}
	put(t, s, bob.Note(0, "a"), store.Stored)
	byDefault := store.Live{Quota: store.Quota{Events: 2, Bytes: 1 << 20, DefaultEvents: true, DefaultBytes: true}}
	if err := s.SetOptions(t.Context(), byDefault); err != nil {
		t.Fatal(err)
	}
	put(t, s, alice.Note(5, "goes on"), store.Stored)
	put(t, s, alice.Engram(bob, 5, "mem/a"), store.Stored)
	put(t, s, bob.Note(1, "b"), store.Stored)
	wantRefused(t, s, bob.Note(2, "c"), "blocked: quota: ")
	wantRefused(t, s, bob.Engram(alice, 2, "mem/a"), "blocked: quota: ")
	restore(t, s, bob.Note(3, "an import brings him above"), store.Stored)
	put(t, s, bob.Note(4, "so that nothing holds him"), store.Stored)

	report, err := s.Check(t.Context())
	if err != nil || !report.OK() {
		t.Fatalf("%+v, %v", report, err)
	}
	if len(report.Above) != 2 || report.Above[0].Events+report.Above[1].Events != 6+4 || report.Above[0].Bytes < 500 {
		t.Errorf("reported: %+v", report.Above)
	}

	configured := byDefault
	configured.Quota.DefaultEvents = false
	if err := s.SetOptions(t.Context(), configured); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, s, alice.Note(6, "no more"), "blocked: quota: ")
	if report, err := s.Check(t.Context()); err != nil || len(report.Above) != 0 {
		t.Errorf("reported: %+v, %v", report.Above, err)
	}
}

// What an author has to be counted for is known without looking at his events,
// also after a restart.
func TestUsageIsKept(t *testing.T) {
	o := storetest.Options(t, func(o *sqlite.Options) { o.Quota.Events, o.Versions = 100, 2 })
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(5) {
		s.Put(t.Context(), alice.Engram(bob, i, "mem/a"), store.PutOptions{})
		s.Put(t.Context(), alice.Note(i, "x"), store.PutOptions{})
	}
	put(t, s, alice.Delete(9, alice.Note(0, "x").ID), store.Stored)
	put(t, s, bob.Note(0, "x"), store.Stored)
	put(t, s, bob.Vanish(1), store.Stored)
	wantExactUsage(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
	wantExactUsage(t, s)
	if n := rows(t, s, "author_usage"); n != 2 {
		t.Errorf("%d authors are counted", n)
	}
	wantWhole(t, s)
	if _, err := events.OnWriter(s, "UPDATE author_usage SET bytes = bytes + 1 WHERE author = x'"+alice.Pub+"'"); err != nil {
		t.Fatal(err)
	}
	report, err := s.Check(t.Context())
	if err != nil || len(report.Problems) != 1 || report.Problems[0].Check != "usage" {
		t.Errorf("check: %+v, %v", report, err)
	}
}
