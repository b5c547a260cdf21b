//go:build nightly

package state

import (
	"slices"
	"testing"
	"time"
)

// TestKnownAtIsCheap: what is known of an address is found within 1 ms behind 100,000
// links.
func TestKnownAtIsCheap(t *testing.T) {
	s, address := manyLinks(t)
	took := make([]time.Duration, 2000)
	for i := range took {
		start := time.Now()
		at, err := s.Heads.At(t.Context(), address(7*i))
		if took[i] = time.Since(start); err != nil || at.Head.ID == "" {
			t.Fatal(at, err)
		}
	}
	slices.Sort(took)
	t.Logf("median %v, 99 of 100 within %v", took[len(took)/2], took[len(took)*99/100])
	if took[len(took)/2] > time.Millisecond {
		t.Errorf("it takes %v", took[len(took)/2])
	}
}
