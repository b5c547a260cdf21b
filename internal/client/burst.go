package client

import (
	"context"
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
	// foreignPace is between two writes behind heads of another clock.
	foreignPace = time.Second
)

// Turn is a write's place in a burst.
type Turn struct {
	foreign bool // it has its place behind a head of another clock
}

// Pause returns how long a write must wait that would supersede a head of that
// time (Unix seconds); 0 if it need not.
func (c *Client) Pause(last int64, t *Turn) time.Duration {
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
