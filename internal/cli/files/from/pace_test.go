package from

import (
	"context"
	"testing"
	"time"

	"engramd/internal/client/memory"
)

// TestPace: however fast relays are, no second gets more memories than one
// listing can return.
func TestPace(t *testing.T) {
	now := time.Unix(1000, 0)
	in := map[int64]int{}
	p := &Pace{now: func() time.Time { return now }, wait: func(_ context.Context, d time.Duration) error {
		if d <= 0 || d > time.Second {
			t.Errorf("it waits %v", d)
		}
		now = now.Add(d)
		return nil
	}}
	for range 100 {
		in[now.Unix()] += memory.MaxAdded
		if err := p.Wrote(t.Context(), memory.MaxAdded); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Millisecond)
	}
	for second, n := range in {
		if n > 400 {
			t.Errorf("%d in second %d", n, second)
		}
	}
	if len(in) != 9 {
		t.Errorf("%d seconds for %d memories", len(in), 100*memory.MaxAdded)
	}
}
