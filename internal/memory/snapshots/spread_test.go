package snapshots

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestSpread: no second gets more versions than a page of a relay holds, and
// the few of a small memory are not waited for.
func TestSpread(t *testing.T) {
	clock, waited := time.Unix(1_700_000_000, 300_000_000), time.Duration(0)
	s := &spread{now: func() time.Time { return clock }, wait: func(_ context.Context, d time.Duration) error {
		clock, waited = clock.Add(d), waited+d
		return nil
	}}
	count := map[int64]int{}
	for i := range 3*perSecond + 1 {
		at := clock.Unix()
		count[at]++
		if err := s.made(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		if i < perSecond-1 && waited != 0 {
			t.Fatalf("waited after %d", i+1)
		}
	}
	for second, n := range count {
		if n > perSecond {
			t.Errorf("%d in the second %d", n, second)
		}
	}
	if want := 2700 * time.Millisecond; len(count) != 4 || waited != want {
		t.Errorf("%d seconds, waited %v, want %v", len(count), waited, want)
	}
	waited = 0
	for range 2 * perSecond { // heads in the future
		if err := s.made(t.Context(), clock.Unix()+100); err != nil {
			t.Fatal(err)
		}
	}
	if waited != 0 {
		t.Errorf("waited %v for the future", waited)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
