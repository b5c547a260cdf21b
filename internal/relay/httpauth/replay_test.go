package httpauth_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/relay/httpauth"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newGuard(most, perKey int) (*httpauth.Guard, *clock) {
	c := &clock{time.Unix(1_700_000_000, 0)}
	return httpauth.New(time.Minute, most, perKey, c.now), c
}

func want(t *testing.T, what string, got, wanted error) {
	t.Helper()
	if !errors.Is(got, wanted) {
		t.Errorf("%s: %v, want %v", what, got, wanted)
	}
}

// TestUsedOnceInItsLife: a header dated one window ahead is good for two, and
// is known all that time.
func TestUsedOnceInItsLife(t *testing.T) {
	m, c := newGuard(10, 10)
	want(t, "first", m.Use("a", "k"), nil)
	for _, later := range []time.Duration{0, time.Minute, time.Minute} { // up to exactly twice the window
		c.at = c.at.Add(later)
		want(t, fmt.Sprint(later), m.Use("a", "k"), httpauth.ErrUsed)
		want(t, "by another key", m.Use("a", "other"), httpauth.ErrUsed)
	}
	c.at = c.at.Add(time.Second)
	want(t, "after its life", m.Use("a", "k"), nil)
	if m.Len() != 1 {
		t.Errorf("%d ids", m.Len())
	}
}

func TestAClockSetBackForgetsNothing(t *testing.T) {
	m, c := newGuard(10, 10)
	want(t, "a", m.Use("a", "k"), nil)
	c.at = c.at.Add(-time.Hour)
	want(t, "b", m.Use("b", "k"), nil)
	want(t, "a again", m.Use("a", "k"), httpauth.ErrUsed)
	c.at = c.at.Add(time.Hour)
	want(t, "b again", m.Use("b", "k"), httpauth.ErrUsed) // behind a, which is not old yet
}

func TestBounds(t *testing.T) {
	m, c := newGuard(3, 2)
	want(t, "1", m.Use("1", "k"), nil)
	want(t, "2", m.Use("2", "k"), nil)
	want(t, "3 of one key", m.Use("3", "k"), httpauth.ErrBusy)
	want(t, "3 of another", m.Use("3", "l"), nil)
	want(t, "4", m.Use("4", "m"), httpauth.ErrBusy)
	want(t, "1 is known all the same", m.Use("1", "k"), httpauth.ErrUsed)
	c.at = c.at.Add(2*time.Minute + 1)
	want(t, "room again", m.Use("4", "k"), nil)
	if m.Len() != 1 {
		t.Errorf("%d ids", m.Len())
	}
}

func TestSeedSurvivesARestart(t *testing.T) {
	m, c := newGuard(10, 10)
	m.Seed("a", "k", c.at.Add(-time.Minute))
	m.Seed("a", "k", c.at)
	want(t, "before the restart", m.Use("a", "k"), httpauth.ErrUsed)
	c.at = c.at.Add(time.Minute + 1)
	want(t, "its time is over", m.Use("a", "k"), nil)
}

// TestMemoryIsGivenBack: thousands of calls over hours leave no more than two
// windows of them.
func TestMemoryIsGivenBack(t *testing.T) {
	m, c := newGuard(1000, 1000)
	for i := range 100_000 {
		c.at = c.at.Add(time.Second)
		want(t, "use", m.Use(fmt.Sprint(i), "k"), nil)
	}
	if n := m.Len(); n > 121 {
		t.Errorf("%d ids", n)
	}
}

func TestOfManyAtOnceOneWins(t *testing.T) {
	m, _ := newGuard(10, 10)
	var won atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if m.Use("a", "k") == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d calls were let through", won.Load())
	}
}

// TestPartOfTheBounds: of several nodes each takes its part of what one key may
// call.
func TestPartOfTheBounds(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	m := httpauth.New(time.Minute, 100, 9, func() time.Time { return now })
	m.SetPart(3)
	for i := range 4 {
		if err := m.Use(fmt.Sprint(i), "a"); (err == nil) != (i < 3) {
			t.Errorf("call %d of one key: %v", i, err)
		}
	}
	if err := m.Use("b", "b"); err != nil {
		t.Errorf("another key: %v", err)
	}
	m.SetPart(1)
	if err := m.Use("5", "a"); err != nil {
		t.Errorf("alone again: %v", err)
	}
	s := &shelf{}
	j := httpauth.NewJournal(httpauth.New(time.Minute, 100, 100, func() time.Time { return now }), s, 4)
	j.SetPart(2)
	for i := range 3 {
		if err := j.Use(t.Context(), fmt.Sprint(i), "a"); errors.Is(err, httpauth.ErrBusy) != (i == 2) {
			t.Errorf("note %d on disk: %v", i, err)
		}
	}
}
