package events

import (
	"slices"
	"testing"
	"time"
)

// What a restore has staged is forgotten when it has lain there for a day, by
// the clock of the store that leads, and not before.
func TestStaleStages(t *testing.T) {
	var k stages
	start := time.Unix(1_700_000_000, 0)
	for _, step := range []struct {
		after  time.Duration
		staged []int64
		want   []int64
	}{
		{0, []int64{1}, nil},
		{23 * time.Hour, []int64{1, 2}, nil},
		{24 * time.Hour, []int64{1, 2}, []int64{1}},
		{25 * time.Hour, []int64{2}, nil},
		{26 * time.Hour, []int64{1, 2}, nil}, // another one of the same number
		{48 * time.Hour, []int64{1, 2}, []int64{2}},
	} {
		if got := k.stale(start.Add(step.after), step.staged); !slices.Equal(got, step.want) {
			t.Errorf("after %v: %v, want %v", step.after, got, step.want)
		}
		if want := start.Add(step.after + lookEvery); !k.next.Equal(want) {
			t.Errorf("looks again at %v", k.next)
		}
	}
}
