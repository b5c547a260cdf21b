package events_test

import (
	"testing"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestHistoryAfterSince: all that was superseded since a time comes, each once
// and in order, whether that is little or much.
func TestHistoryAfterSince(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions, o.Clock = 2000, clock.Now })
	write := func(from, to int64) {
		for i := from; i < to; i++ {
			if got := s.Put(t.Context(), alice.Engram(bob, i, "mem/a"), store.PutOptions{}); got.Err != nil || !got.Outcome.OK() {
				t.Fatal(got)
			}
		}
	}
	write(0, 600)
	clock.Add(time.Hour)
	write(600, 650)
	for _, c := range []struct {
		since time.Time
		want  int
	}{{storetest.Start, 649}, {clock.Now(), 50}, {clock.Now().Add(time.Second), 0}} {
		since, got, last := c.since.Unix(), 0, int64(0)
		for q := (store.HistoryAfter{Since: &since, Limit: 200}); ; {
			rows, to, err := s.HistoryAfter(t.Context(), gate.Operator(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if got++; r.Seq <= last {
					t.Fatalf("number %d after %d", r.Seq, last)
				}
				last = r.Seq
			}
			if to == q.After {
				break
			}
			q.After = to
		}
		if got != c.want {
			t.Errorf("since %v: %d, want %d", c.since, got, c.want)
		}
	}
}
