//go:build nightly

package localcopy

import (
	"slices"
	"testing"
	"time"
)

// TestAtIsCheap: the newest of an address is found within 1 ms among 20,000 memories,
// with its event.
func TestAtIsCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures time, which the race detector takes")
	}
	a := newAuthor(t, "agent", "owner")
	events, _ := many(t, a, 20_000)
	m := open(t, a.Pair, Options{Dir: t.TempDir()})
	put(t, m, near, events...)
	took := make([]time.Duration, 2000)
	for i := range took {
		d := events[i*9].Tags.GetD()
		start := time.Now()
		l, ok, err := m.At(t.Context(), d)
		if took[i] = time.Since(start); err != nil || !ok || l.Event == nil {
			t.Fatal(l, ok, err)
		}
	}
	slices.Sort(took)
	t.Logf("median %v, 99 of 100 within %v", took[len(took)/2], took[len(took)*99/100])
	if took[len(took)/2] > time.Millisecond {
		t.Errorf("it takes %v", took[len(took)/2])
	}
}
