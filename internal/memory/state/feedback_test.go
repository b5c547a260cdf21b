package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A unit earns once on a day, and all of them together ten times.
func TestFeedback(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	judgements := func() (map[string]Judged, int) {
		t.Helper()
		all, earned, err := s.Feedback.All(t.Context())
		must(t, err)
		return all, earned
	}
	must(t, s.Feedback.Judge(t.Context(), true, "mem/a", "mem/a"))
	must(t, s.Feedback.Judge(t.Context(), true, "mem/a"))
	must(t, s.Feedback.Judge(t.Context(), false, "mem/a", "mem/b"))
	all, earned := judgements()
	if all["mem/a"] != (Judged{3, 1, testTime}) || all["mem/b"] != (Judged{0, 1, testTime}) || earned != 1 {
		t.Errorf("%v, %d", all, earned)
	}
	r.now = r.now.Add(24 * time.Hour)
	must(t, s.Feedback.Judge(t.Context(), true, "mem/a", "mem/b"))
	if _, earned := judgements(); earned != 3 {
		t.Errorf("on the next day %d", earned)
	}
	for i := range 20 {
		must(t, s.Feedback.Judge(t.Context(), true, fmt.Sprintf("mem/%d", i)))
	}
	if _, earned := judgements(); earned != MaxEarned {
		t.Errorf("%d", earned)
	}
	if err := s.Feedback.Judge(t.Context(), true, strings.Repeat("a", maxName+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if err := s.Feedback.Judge(t.Context(), true, make([]string, maxAtOnce+1)...); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// Relays are told once a day, also after a clock that was days ahead for a while.
func TestFlushing(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	for i, tt := range []struct {
		after time.Duration
		due   bool
	}{{0, true}, {time.Hour, false}, {22 * time.Hour, false}, {time.Hour, true}, {0, false}, {-time.Minute, false}, {400 * 24 * time.Hour, true}, {-399 * 24 * time.Hour, true}, {time.Hour, false}} {
		r.now = r.now.Add(tt.after)
		if due, err := s.Counters.Flushing(t.Context()); due != tt.due || err != nil {
			t.Errorf("%d: %v, %v", i, due, err)
		}
	}
}
