package daemon

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/clock"
	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
)

// timekeeper says whether the clock may be gone by: the machine's, or the log's on
// a node of several.
type timekeeper struct {
	*clock.Guard
	newest int64        // arrival that the database had when it was opened
	future atomic.Int64 // limits.future
	end    func()
}

// newTimekeeper makes one that confirms nothing before it is started.
func newTimekeeper(c common, cfg *config.Config) *timekeeper {
	t := &timekeeper{Guard: clock.New(clock.Options{
		Path: filepath.Join(cfg.Data, clock.File), Now: c.member.now, Machine: clock.System(), Log: c.log, Jumped: c.metrics.ClockJumped,
	})}
	t.future.Store(int64(cfg.Limits.Future))
	c.metrics.WatchClock(t.Confirmed)
	return t
}

// arrived is told of the newest arrival, when the database is opened. The log's
// time is not known yet then, but what the machine's clock is worth.
func (t *timekeeper) arrived(alone bool) func(newest int64) {
	return func(newest int64) {
		if t.newest = newest; alone {
			t.Open(newest)
			return
		}
		t.Expect(newest)
	}
}

// start begins to look at the clock. behind is how far the log's time is behind the
// machine's, nil where there is no log.
func (t *timekeeper) start(behind func() time.Duration) {
	opens := behind != nil
	if opens && behind() <= mostBehind {
		t.Open(t.newest)
		opens = false
	}
	t.end = begin(context.Background(), func(ctx context.Context) {
		if opens {
			t.await(ctx, behind)
		}
		t.Run(ctx, time.After)
	})
}

const (
	standing   = 30 * time.Second // longer than the log's time stands after a start
	mostBehind = 30 * time.Second // more than messages take, and clocks that are right differ
)

// await opens the guard once the log's time moves. After all nodes were off it stands
// until those that are not there do not count any more: who anchored to it would doubt
// the right time after it, and the machine's clock with it.
func (t *timekeeper) await(ctx context.Context, behind func() time.Duration) {
	for end := time.Now().Add(standing); behind() > mostBehind && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(standing / 60):
		}
	}
	t.Open(t.newest)
}

func (t *timekeeper) close() {
	if t.end != nil {
		t.end()
	}
}

// late reports whether what clients send now would be refused as from the future.
func (t *timekeeper) late() bool { return t.Behind() > time.Duration(t.future.Load()) }

// doubts refuses, while the clock is not confirmed, what would decide or remove
// something by it: a move of a contract whose deadline is over, and a version in
// the place of one that has expired. Whoever sends them tries again.
func (p *process) doubts(ctx context.Context, ev *nostr.Event) (rejected bool, message string) {
	if p.clock.Confirmed() {
		return false, ""
	}
	undecided, err := p.contracts.service.Undecided(ctx, ev)
	if err == nil && !undecided {
		undecided, err = p.store.HeadExpired(ctx, ev)
	}
	if err != nil {
		p.log.Error("an event could not be judged while the clock is not confirmed", "err", err)
	}
	if err == nil && !undecided {
		return false, ""
	}
	p.rules.notStored(ctx, ev)
	return true, "error: " + store.ErrClock.Error()
}

// judgeCopy is what followed relays bring, as it is judged: what is refused for the
// clock breaks the pass off, and comes again.
func (p *process) judgeCopy(ctx context.Context, ev *nostr.Event) (rejected bool, message string) {
	if rejected, message = p.rules.copies.RejectEvent(ctx, ev); rejected || p.clock.Confirmed() {
		return rejected, message
	}
	if gone, err := p.store.HeadExpired(ctx, ev); err != nil || gone {
		return true, "error: " + store.ErrClock.Error()
	}
	return false, ""
}

// calls keep the signatures of calls longer while the clock is not confirmed.
type calls struct {
	*sqlite.Store
	confirmed func() bool
}

func (c calls) UseCalls(ctx context.Context, list []store.UsedCall, before int64) ([]bool, error) {
	if !c.confirmed() {
		before = 0
	}
	return c.Store.UseCalls(ctx, list, before)
}

// orders let the operator believe the clock.
func (t *timekeeper) orders() []control.Order {
	return []control.Order{control.NewOrder(orders.ClockAccept, func(context.Context, struct{}) (any, error) { return t.Accept() })}
}
