package events_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// Disk full, by SQLite's page limit: writes fail, reads go on, nothing
// acknowledged is lost, and it recovers when there is room.
func TestFullDatabase(t *testing.T) {
	seen := &counter{}
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.MaxBytes, o.Observe = 1<<20, seen })
	body := strings.Repeat("x", 20_000)
	var kept []*nostr.Event
	var r store.Result
	for i := int64(0); ; i++ {
		ev := alice.Note(i, body)
		if r = s.Put(t.Context(), ev, store.PutOptions{}); r.Outcome != store.Stored {
			break
		}
		kept = append(kept, ev)
	}
	if r.Outcome != store.Failed || !errors.Is(r.Err, store.ErrFull) || r.Message() != "" {
		t.Fatalf("when full: %+v", r)
	}
	if seen.failed == 0 || seen.failedBy["full"] != 1 {
		t.Errorf("observed: %d failures, %v", seen.failed, seen.failedBy)
	}
	if got := visible(t, s, nostr.Filter{}); len(got) != len(kept) {
		t.Errorf("%d of %d events can be read", len(got), len(kept))
	}
	wantWhole(t, s)

	// Deleting makes room.
	put(t, s, alice.Delete(1000, kept[0].ID, kept[1].ID, kept[2].ID), store.Stored)
	put(t, s, alice.Note(1001, body), store.Stored)
	// And so does a higher limit.
	for i := int64(2000); s.Put(t.Context(), alice.Note(i, body), store.PutOptions{}).Outcome == store.Stored; i++ {
	}
	if err := s.SetOptions(t.Context(), store.Live{MaxBytes: 2 << 20}); err != nil {
		t.Fatal(err)
	}
	put(t, s, alice.Note(3000, body), store.Stored)
	if err := s.SetOptions(t.Context(), store.Live{}); err != nil {
		t.Fatal(err)
	}
	for i := range int64(100) {
		put(t, s, alice.Note(4000+i, body), store.Stored)
	}
	wantWhole(t, s)
}

// Of a batch that does not fit, what fits is stored.
func TestFullDatabaseTakesWhatFits(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.MaxBytes = 1 << 20 })
	release := events.HoldWriter(s)
	small, huge := make([]store.Pending, 0, 20), (store.Pending)(nil)
	for i := range int64(20) {
		p, err := s.Begin(t.Context(), alice.Note(i, "small"), store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		small = append(small, p)
		if i == 10 {
			if huge, err = s.Begin(t.Context(), alice.Note(i, strings.Repeat("x", 2<<20)), store.PutOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	release()
	if r := huge.Wait(); r.Outcome != store.Failed || !errors.Is(r.Err, store.ErrFull) {
		t.Errorf("huge: %+v", r)
	}
	for i, p := range small {
		if r := p.Wait(); r.Outcome != store.Stored {
			t.Errorf("small %d: %+v", i, r)
		}
	}
	wantWhole(t, s)
}

// TestReadyMeansRoomForAnEvent: a database in which small events still fit and
// ordinary ones do not is not ready, before one was refused and after, and is
// ready again by itself when there is room.
func TestReadyMeansRoomForAnEvent(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.MaxBytes = 2 << 20 })
	ready := func(when string, want bool) {
		t.Helper()
		if err := s.Ready(t.Context()); (err == nil) != want || err != nil && !errors.Is(err, store.ErrFull) {
			t.Errorf("%s: ready %v, want %t", when, err, want)
		}
	}
	fits := func(i int64, size int) bool { // of a kind without full-text index, whose merges give pages back
		t.Helper()
		r := s.Put(t.Context(), alice.Fake(7, i, strings.Repeat("x", size)), store.PutOptions{})
		if r.Outcome == store.Failed && !errors.Is(r.Err, store.ErrFull) {
			t.Fatal(r.Err)
		}
		return r.Outcome == store.Stored
	}
	ready("empty", true)
	var i int64
	for s.Ready(t.Context()) == nil {
		if i++; !fits(i, 64<<10) {
			t.Fatal("ready, and an event of 64 KiB does not fit")
		}
	}
	if i < 5 {
		t.Fatalf("not ready after %d events", i)
	}
	if i++; !fits(i, 100) {
		t.Error("not even a small event fits: the test tests nothing")
	}
	ready("a small event fits", false)
	for i++; fits(i, 20_000); i++ {
	}
	ready("an event was refused", false)
	if err := s.SetOptions(t.Context(), store.Live{MaxBytes: 4 << 20}); err != nil {
		t.Fatal(err)
	}
	ready("a higher limit", true)
	ready("and again", true)
	if n := rows(t, s, "meta WHERE key = 'ready.room'"); n != 0 {
		t.Error("what it wrote to see whether it fits is still there")
	}
	if !fits(i+1, 64<<10) {
		t.Error("ready, and an event of 64 KiB does not fit")
	}
}

// TestFullByAnyName: whatever SQLite calls it, no room is ErrFull, and nothing
// else is.
func TestFullByAnyName(t *testing.T) {
	for err, want := range map[sqlite3.Error]bool{
		{Code: sqlite3.ErrFull}:                                 true,
		{Code: sqlite3.ErrIoErr, SystemErrno: syscall.EDQUOT}:   true,
		{Code: sqlite3.ErrIoErr, SystemErrno: syscall.ENOSPC}:   true,
		{Code: sqlite3.ErrIoErr, SystemErrno: syscall.EIO}:      false,
		{Code: sqlite3.ErrCorrupt, SystemErrno: syscall.ENOSPC}: false,
		{Code: sqlite3.ErrConstraint, ExtendedCode: 2067}:       false,
	} {
		got := engine.WriteError(fmt.Errorf("commit: %w", err))
		if errors.Is(got, store.ErrFull) != want || !errors.Is(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
		if again := engine.WriteError(got); again.Error() != got.Error() {
			t.Errorf("named twice: %v", again)
		}
	}
	if engine.WriteError(nil) != nil {
		t.Error("no error became one")
	}
}
