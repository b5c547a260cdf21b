package snapshots

import (
	"context"
	"time"
)

// perSecond is how many versions bear the time of one second at most. Memory is
// listed by pages that begin at a second: of one with more events than a relay
// has in a page (500 are common) the rest could never be listed again.
const perSecond = 400

// spread has a revert wait for the next second when one is full.
type spread struct {
	now    func() time.Time
	wait   func(context.Context, time.Duration) error
	second int64
	count  int
}

func newSpread() *spread { return &spread{now: time.Now, wait: sleep} }

// made notes a version of a second, and waits until that is over if it is full.
// One that lies in the future, because what is there does, is not waited for.
func (s *spread) made(ctx context.Context, second int64) error {
	if s.second != second {
		s.second, s.count = second, 0
	}
	if s.count++; s.count < perSecond {
		return nil
	}
	if left := time.Unix(second+1, 0).Sub(s.now()); left > 0 && left <= time.Second {
		return s.wait(ctx, left)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
