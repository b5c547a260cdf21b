package events_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestTheLogIsWrittenBackBesideEndlessScans: scans that overlap without a gap,
// and one that would go on for ever, do not keep the log from being begun anew;
// who is ended for it is told so, and look-ups never are.
func TestTheLogIsWrittenBackBesideEndlessScans(t *testing.T) {
	const limit = 4 << 20
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.MaxLogBytes, o.QueryTimeout = limit, -1 })
	ev := alice.Note(0, "found")
	put(t, s, ev, store.Stored)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	ended := make(chan error, 1)
	all.Go(func() {
		const endless = `WITH RECURSIVE n(i) AS (SELECT max(seq) FROM events UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n`
		_, err := events.OnReader(ctx, s, endless)
		ended <- err
	})
	for range 3 {
		all.Go(func() {
			const long = `WITH RECURSIVE n(i) AS (SELECT max(seq) FROM events UNION ALL SELECT i+1 FROM n LIMIT 300000) SELECT max(i) FROM n`
			for ctx.Err() == nil {
				if _, err := events.OnReader(ctx, s, long); err != nil && !errors.Is(err, store.ErrEnded) && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	defer all.Wait()
	defer stop()
	text := strings.Repeat("x", 20_000)
	deadline := time.Now().Add(time.Minute)
	over, back := false, false
	for i := int64(1); !back; i++ {
		put(t, s, bob.Note(i, text), store.Stored)
		_, wal := s.Sizes()
		over = over || wal > limit
		back = over && wal < limit/2
		if got := queryAll(t, s, store.Ask{Filter: nostr.Filter{IDs: []string{ev.ID}}}, 1); len(got) != 1 {
			t.Fatalf("%d rows for an id", len(got))
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %d writes the log has %d MiB", i, wal>>20)
		}
	}
	if err := <-ended; !errors.Is(err, store.ErrEnded) {
		t.Errorf("the endless scan: %v", err)
	}
}
