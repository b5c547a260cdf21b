package httpauth_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"engramd/internal/relay/httpauth"
)

// shelf is a Keeper in memory that can be held up and can fail.
type shelf struct {
	mu     sync.Mutex
	groups [][]httpauth.Note
	before time.Time
	gate   chan struct{} // nil: open
	fail   error
	ids    map[string]bool
}

func (s *shelf) Keep(_ context.Context, notes []httpauth.Note, before time.Time) (had []bool, err error) {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups, s.before = append(s.groups, notes), before
	if s.ids == nil {
		s.ids = map[string]bool{}
	}
	for _, n := range notes {
		had = append(had, s.ids[n.ID])
		s.ids[n.ID] = true
	}
	return had, s.fail
}

func (s *shelf) kept() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		n += len(g)
	}
	return n
}

func TestJournalKeepsBeforeItLetsIn(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	s := &shelf{}
	j := httpauth.NewJournal(httpauth.New(time.Minute, 100, 100, func() time.Time { return at }), s, 1000)
	if err := j.Use(t.Context(), "a", "k"); err != nil {
		t.Fatal(err)
	}
	if s.kept() != 1 || s.groups[0][0] != (httpauth.Note{ID: "a", Key: "k", At: at}) || !s.before.Equal(at.Add(-2*time.Minute)) {
		t.Errorf("kept %v, from %v on", s.groups, s.before)
	}
	if err := j.Use(t.Context(), "a", "k"); !errors.Is(err, httpauth.ErrUsed) || s.kept() != 1 {
		t.Errorf("the second use: %v, %d kept", err, s.kept())
	}
	s.fail = errors.New("disk full")
	if err := j.Use(t.Context(), "b", "k"); !errors.Is(err, s.fail) {
		t.Errorf("a use that could not be kept: %v", err)
	}
	if err := j.Use(t.Context(), "b", "k"); !errors.Is(err, httpauth.ErrUsed) {
		t.Errorf("and again: %v", err)
	}
}

func TestJournalKeepsTogether(t *testing.T) {
	s := &shelf{gate: make(chan struct{})}
	j := httpauth.NewJournal(httpauth.New(time.Minute, 1000, 1000, time.Now), s, 1000)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if err := j.Use(t.Context(), fmt.Sprint(i), "k"); err != nil {
				t.Error(err)
			}
		})
	}
	s.gate <- struct{}{} // the first group, of one or more
	close(s.gate)
	wg.Wait()
	if s.kept() != 100 {
		t.Errorf("%d kept", s.kept())
	}
}

func TestJournalGivesUpWithItsCaller(t *testing.T) {
	s := &shelf{gate: make(chan struct{})}
	j := httpauth.NewJournal(httpauth.New(time.Minute, 10, 10, time.Now), s, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Use(ctx, "a", "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(s.gate)
}

// TestFloodKeepsNobodyOut: calls by more keys than the memory has room for are
// let in, each once, and so is everybody else's call; what the disk may have is
// bounded, and there is room again after twice the window.
func TestFloodKeepsNobodyOut(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	memory := httpauth.New(time.Minute, 10, 5, func() time.Time { return at })
	j := httpauth.NewJournal(memory, &shelf{}, 100)
	j.Seed("seeded", "k", at.Add(-time.Minute))
	use := func(i int) error { return j.Use(t.Context(), fmt.Sprint("id", i), fmt.Sprint("key", i)) }
	for i := range 98 {
		want(t, fmt.Sprint("call ", i), use(i), nil)
	}
	if memory.Len() != 10 {
		t.Errorf("the memory holds %d", memory.Len())
	}
	want(t, "one that only the disk knows", use(0), httpauth.ErrUsed) // it is written down once more, so to speak
	want(t, "one that the memory knows", use(97), httpauth.ErrUsed)
	want(t, "a call too many", use(100), httpauth.ErrBusy)
	at = at.Add(time.Minute + 2*time.Second) // the seeded one is old now
	want(t, "one more", use(101), nil)
	want(t, "and another", use(102), httpauth.ErrBusy)
	at = at.Add(2*time.Minute + 2*time.Second)
	for i := range 5 {
		want(t, "room again", j.Use(t.Context(), fmt.Sprint("new", i), "k"), nil)
	}
	want(t, "of one key", j.Use(t.Context(), "new6", "k"), httpauth.ErrBusy)
	if !j.Used("new1") || j.Used("new6") {
		t.Error("what was used is not known")
	}
}
