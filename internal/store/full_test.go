package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/store"
	"engramd/internal/store/storetest"
)

// Disk full, by SQLite's page limit: writes fail, reads go on, nothing acknowledged is lost, and it recovers when there
// is room.
func TestFullDatabase(t *testing.T) {
	seen := &counter{}
	s := storetest.MustOpen(t, func(o *store.Options) { o.MaxBytes, o.Observe = 1<<20, seen })
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
	if r.Outcome != store.Failed || !errors.Is(r.Err, store.ErrFull) || r.Message != "" {
		t.Fatalf("when full: %+v", r)
	}
	if seen.failed == 0 {
		t.Error("the failure was not observed")
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
	s := storetest.MustOpen(t, func(o *store.Options) { o.MaxBytes = 1 << 20 })
	release := store.HoldWriter(s)
	small, huge := make([]*store.Pending, 0, 20), (*store.Pending)(nil)
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
