package client

import (
	"context"
	"errors"
	"time"

	"engramd/nips/nipae"
)

// Who writes one slug faster than once a second dates each version a second
// after the one before, and so runs ahead of the clock.
const (
	// burstAhead is how far a version of ours may be dated ahead of the clock.
	burstAhead = 30 * time.Second
	// foreignAhead is from where a head's time is another clock's: ours never
	// wrote it. It is superseded, slowly, up to where it is poisoned.
	foreignAhead = 60 * time.Second
	// burstPatience is how long a write waits for its turn.
	burstPatience = 30 * time.Second
	// foreignPace is between two writes behind heads of another clock.
	foreignPace = time.Second
)

// errBusy says that a write found no place.
func errBusy() error {
	return &ConflictError{Reason: "busy: this memory is being written faster than once a second; nothing was published"}
}

// turn is a write's place in a burst.
type turn struct {
	waited  time.Duration
	foreign bool // it has its place behind a head of another clock
}

// pause returns how long a write must wait that would supersede a head of that
// time (Unix seconds); 0 if it need not.
func (c *Client) pause(last int64, t *turn) time.Duration {
	now := c.o.Clock()
	ahead := time.Unix(last+1, 0).Sub(now)
	switch {
	case ahead <= burstAhead, t.foreign, ahead > nipae.PoisonThreshold:
		return 0
	case ahead <= foreignAhead:
		return ahead - burstAhead
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.foreign = true
	next := c.lastForeign.Add(foreignPace)
	if next.Before(now) {
		next = now
	}
	c.lastForeign = next
	return next.Sub(now)
}

// beyond returns a context that ends when ctx is cancelled, but not when its
// time is over: the time limit is for the network, and waiting for one's turn
// is not.
func beyond(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return out, func() { stop(); cancel() }
}

// wait is Options.Wait by the real clock.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
