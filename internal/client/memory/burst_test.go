package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/relay/http/bridgetest"
)

// burstClock is a clock that waiting moves.
type burstClock struct {
	mu     sync.Mutex
	now    time.Time
	waited time.Duration
}

func (b *burstClock) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *burstClock) wait(_ context.Context, d time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now, b.waited = b.now.Add(d), b.waited+d
	return nil
}

func (b *burstClock) options(o *client.Options) { o.Clock, o.Wait = b.clock, b.wait }

// TestBurstsKeepToTheClock: a burst runs 31 seconds ahead at most, and goes on
// at one write a second.
func TestBurstsKeepToTheClock(t *testing.T) {
	b := &burstClock{now: time.Now().Truncate(time.Second)}
	m := agentOf(t, "agent", "owner", []string{bridgetest.Start(t).URL}, b.options)
	for i := range 60 {
		e := mustSet(t, m, "mem/a", fmt.Sprint(i))
		if ahead := e.CreatedAt - b.clock().Unix(); ahead > 31 {
			t.Fatalf("write %d is dated %d s ahead", i, ahead)
		}
	}
	if b.waited < 25*time.Second || b.waited > 35*time.Second {
		t.Errorf("60 writes waited %v", b.waited)
	}
	if got, _, err := m.Get(t.Context(), "mem/a"); err != nil || got.Text != "59" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

// TestBusy: who finds no place publishes nothing and says so; the time limit of
// the network has nothing to do with it.
func TestBusy(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	h := &clienttest.Hoard{}
	h.Put(clienttest.EngramAt(t, "agent", "owner", "mem/a", "ahead", now.Unix()+45))
	waits := 0
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, h)}, func(o *client.Options) {
		o.Clock = func() time.Time { return now } // others write as fast as time passes
		o.Wait = func(ctx context.Context, _ time.Duration) error {
			waits++
			if _, limited := ctx.Deadline(); limited {
				t.Error("waiting counts towards the time limit")
			}
			return ctx.Err()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var conflict *client.ConflictError
	if _, _, err := m.Set(ctx, "mem/a", "x", SetOptions{}); !errors.As(err, &conflict) || !conflict.Busy || err.Error()[:14] != "conflict: busy" || waits == 0 {
		t.Errorf("%v after %d waits", err, waits)
	}
	if h.Count() != 1 {
		t.Errorf("%d events were published", h.Count()-1)
	}
	cancel()
	if _, _, err := m.Set(ctx, "mem/a", "x", SetOptions{}); err == nil {
		t.Error("a cancelled write went on")
	}
}

// TestBehindAnotherClock: a head that our own bursts cannot have made is
// superseded, once a second.
func TestBehindAnotherClock(t *testing.T) {
	b := &burstClock{now: time.Now().Truncate(time.Second)}
	h := &clienttest.Hoard{}
	h.Put(clienttest.EngramAt(t, "agent", "owner", "mem/a", "ahead", b.now.Unix()+120))
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, h)}, b.options)
	for i := range 5 {
		if e := mustSet(t, m, "mem/a", fmt.Sprint(i)); e.CreatedAt < b.clock().Unix()+60 {
			t.Errorf("write %d is dated %d s ahead", i, e.CreatedAt-b.clock().Unix())
		}
	}
	if b.waited != 4*time.Second {
		t.Errorf("five writes waited %v", b.waited)
	}
}
