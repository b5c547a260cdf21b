package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/relay/http/bridgetest"
)

// sharedClock is the clock of several writers, each with a client of its own as
// processes have. It stands while one of them works; when all wait, it goes on
// to the first whose wait is over, with those that end with it or, oneByOne,
// alone.
type sharedClock struct {
	mu       sync.Mutex
	now      time.Time
	working  int
	waiting  []sleeper // in the order in which they came
	oneByOne bool
}

type sleeper struct {
	until time.Time
	wake  chan struct{}
}

func (s *sharedClock) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *sharedClock) wait(_ context.Context, d time.Duration) error {
	s.mu.Lock()
	me := sleeper{s.now.Add(d), make(chan struct{})}
	s.waiting = append(s.waiting, me)
	s.rest()
	s.mu.Unlock()
	<-me.wake
	return nil
}

// rest is one writer less at work. The lock is held.
func (s *sharedClock) rest() {
	if s.working--; s.working > 0 || len(s.waiting) == 0 {
		return
	}
	first := s.waiting[0].until
	for _, w := range s.waiting {
		if w.until.Before(first) {
			first = w.until
		}
	}
	if s.now.Before(first) {
		s.now = first
	}
	var later []sleeper
	for _, w := range s.waiting {
		if w.until.After(s.now) || s.oneByOne && s.working > 0 {
			later = append(later, w)
			continue
		}
		s.working++
		close(w.wake)
	}
	s.waiting = later
}

// run has writers work at once, each with a client of its own, and waits for
// them.
func (s *sharedClock) run(t *testing.T, writers int, relays []string, work func(n int, m *Memory)) {
	t.Helper()
	s.working = writers
	var all sync.WaitGroup
	for n := range writers {
		m := agentOf(t, "agent", "owner", relays, func(o *client.Options) { o.Clock, o.Wait = s.clock, s.wait })
		all.Go(func() {
			defer func() { s.mu.Lock(); s.rest(); s.mu.Unlock() }()
			_ = s.wait(t.Context(), 0) // all begin together
			work(n, m)
		})
	}
	all.Wait()
}

// wantNear wants every version of mem/a dated 31 s ahead of the clock at most,
// and that whoever comes next can write over it.
func (s *sharedClock) wantNear(t *testing.T, relays []string) {
	t.Helper()
	b := &burstClock{now: s.now}
	m := agentOf(t, "agent", "owner", relays, b.options)
	versions, _, err := m.Log(t.Context(), "mem/a")
	if err != nil || len(versions) == 0 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	for _, v := range versions {
		if ahead := v.CreatedAt - s.now.Unix(); ahead > 31 {
			t.Errorf("version %s is dated %d s ahead", v.ID, ahead)
		}
	}
	if next := mustSet(t, m, "mem/a", "after all"); next.CreatedAt <= versions[0].CreatedAt || b.waited > 2*time.Second {
		t.Errorf("the next is dated %d after %d, and waited %v", next.CreatedAt, versions[0].CreatedAt, b.waited)
	}
}

// TestManyBurstsKeepToTheClock: several writers in a burst on one slug, without
// a base, run 31 seconds ahead together. One that wrote at the same time as
// another, and lost, is told so.
func TestManyBurstsKeepToTheClock(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var relays []string
			for range n {
				relays = append(relays, bridgetest.Start(t).URL)
			}
			began := time.Now().Truncate(time.Second)
			s := &sharedClock{now: began}
			var wrote, lost atomic.Int32
			s.run(t, 6, relays, func(n int, m *Memory) {
				for i := range 40 {
					e, _, err := m.Set(t.Context(), "mem/a", fmt.Sprint(n, " ", i), SetOptions{})
					var conflict *client.ConflictError
					switch {
					case err == nil:
						wrote.Add(1)
					case errors.As(err, &conflict):
						lost.Add(1)
					default:
						t.Errorf("writer %d: %v", n, err)
					}
					// The clock stands as long as this writer does not wait.
					if ahead := e.CreatedAt - s.clock().Unix(); ahead > 31 {
						t.Errorf("writer %d: dated %d s ahead", n, ahead)
					}
				}
			})
			// Six writers can date no more than 6 × 32 versions without waiting.
			if passed := s.now.Sub(began); passed < time.Second || wrote.Load() == 0 {
				t.Errorf("%d wrote and %d lost, in %v", wrote.Load(), lost.Load(), passed)
			}
			s.wantNear(t, relays)
		})
	}
}

// TestManyBusy: of more writers than there are seconds for, each with one
// write, those that find no place in 30 seconds publish nothing and say so.
func TestManyBusy(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL}
	s := &sharedClock{now: time.Now().Truncate(time.Second), oneByOne: true}
	put(t, relays, clienttest.EngramAt(t, "agent", "owner", "mem/a", "ahead", s.now.Unix()+30))
	var wrote, busy atomic.Int32
	s.run(t, 36, relays, func(n int, m *Memory) {
		var conflict *client.ConflictError
		switch e, _, err := m.Set(t.Context(), "mem/a", fmt.Sprint(n), SetOptions{}); {
		case err == nil && e.CreatedAt-s.clock().Unix() <= 31:
			wrote.Add(1)
		case errors.As(err, &conflict) && strings.HasPrefix(err.Error(), "conflict: busy") && !conflict.Sent && e.ID == "":
			busy.Add(1)
		default:
			t.Errorf("writer %d: %v, dated %d s ahead", n, err, e.CreatedAt-s.clock().Unix())
		}
	})
	if wrote.Load() != 30 || busy.Load() != 6 {
		t.Errorf("%d wrote and %d were busy, want 30 and 6", wrote.Load(), busy.Load())
	}
	s.wantNear(t, relays)
	m := agentOf(t, "agent", "owner", relays, nil)
	if versions, _, err := m.Log(t.Context(), "mem/a"); err != nil || len(versions) != 32 {
		t.Errorf("%d versions are there, want the one before, 30 and the one after: %v", len(versions), err)
	}
}
