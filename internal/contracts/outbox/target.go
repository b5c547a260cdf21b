package outbox

import (
	"context"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/store"
	"engramd/internal/wire"
)

const (
	// pageSize is how many events are read, and acknowledged, together.
	pageSize = 64
	// parallel is how many lanes of a target are served at a time.
	parallel   = 8
	firstPause = time.Second
	maxPause   = 10 * time.Minute
)

// pause is how long after so many failures in a row there is no further attempt.
func pause(failures int) time.Duration {
	d := firstPause
	for range failures - 1 {
		if d *= 2; d >= maxPause {
			return maxPause
		}
	}
	return d
}

// lane is a contract that a target has refused.
type lane struct {
	failures int
	until    time.Time
}

// target is one relay: an actor that owns what is known of its failures. Only run touches it, and the goroutines of one
// pass under mu.
type target struct {
	box  *Outbox
	name string
	to   carrier
	wake chan struct{} // holds a token when something may be to be done

	mu       sync.Mutex
	failures int       // of the target in a row
	until    time.Time // it is left alone until then
	lanes    map[string]lane
}

func newTarget(b *Outbox, name string, to carrier) *target {
	return &target{box: b, name: name, to: to, wake: make(chan struct{}, 1), lanes: map[string]lane{}}
}

func (t *target) local() bool { return t.name == store.OutboxLocal }

func (t *target) rouse() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run delivers what waits, whenever something is given and whenever a pause is over, until ctx ends.
func (t *target) run(ctx context.Context) {
	for {
		var due <-chan time.Time
		if wait := t.pass(ctx); wait > 0 {
			due = t.box.o.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-due:
		}
	}
}

// pass tries all that may be tried now, and returns how long to wait for the next time that something may; 0 is until
// something new is given.
func (t *target) pass(ctx context.Context) time.Duration {
	if wait := t.until.Sub(t.box.o.Clock()); wait > 0 {
		return wait
	}
	blocked := map[string]bool{} // contracts whose next event is not to be tried in this pass
	working := t.failures == 0
	for after := int64(0); ctx.Err() == nil; {
		items, err := t.box.o.Store.Outbox(ctx, t.name, after, pageSize)
		if err != nil {
			return t.storeFailed(ctx, err)
		}
		if len(items) == 0 {
			t.prune(blocked)
			return t.next()
		}
		after = items[len(items)-1].N
		done := t.serve(ctx, t.split(items, blocked), blocked, working)
		if len(done) > 0 {
			if err := t.box.o.Store.OutboxDone(ctx, t.name, done); err != nil {
				return t.storeFailed(ctx, err)
			}
			if t.local() {
				t.box.Rouse()
			}
		}
		if wait := t.until.Sub(t.box.o.Clock()); wait > 0 {
			return wait
		}
	}
	return 0
}

// storeFailed leaves everything alone for a while.
func (t *target) storeFailed(ctx context.Context, err error) time.Duration {
	if ctx.Err() == nil {
		t.box.o.Log.Error("outbox: the database failed", "err", err)
	}
	return firstPause
}

// split puts a page's events into their lanes, without those that are not to be tried now.
func (t *target) split(items []store.OutboxItem, blocked map[string]bool) [][]store.OutboxItem {
	now := t.box.o.Clock()
	index := map[string]int{}
	var lanes [][]store.OutboxItem
	for _, it := range items {
		if it.Ahead || now.Before(t.lanes[it.Contract].until) {
			blocked[it.Contract] = true
		}
		if blocked[it.Contract] {
			continue
		}
		i, ok := index[it.Contract]
		if !ok {
			i = len(lanes)
			index[it.Contract] = i
			lanes = append(lanes, nil)
		}
		lanes[i] = append(lanes[i], it)
	}
	return lanes
}

// serve delivers lanes side by side, and returns the numbers of events that need nothing more.
func (t *target) serve(ctx context.Context, lanes [][]store.OutboxItem, blocked map[string]bool, working bool) (done []int64) {
	turn := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for _, items := range lanes {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			numbers, whole := t.follow(ctx, items, working)
			t.mu.Lock()
			defer t.mu.Unlock()
			done = append(done, numbers...)
			if !whole {
				blocked[items[0].Contract] = true
			}
		})
	}
	wg.Wait()
	return done
}

// follow delivers the events of one lane in order, up to the first that is not taken.
func (t *target) follow(ctx context.Context, items []store.OutboxItem, working bool) (done []int64, whole bool) {
	for _, it := range items {
		if !t.available() {
			return done, false
		}
		ev, err := wire.ParseEvent(it.JSON)
		if err != nil {
			t.box.o.Log.Error("outbox: an event is damaged and is not published", "err", err)
			done = append(done, it.N)
			continue
		}
		verdict, err := t.to.carry(ctx, ev)
		if ctx.Err() != nil && !verdict.final() {
			return done, false // the end of the process is nobody's failure
		}
		t.box.o.Observe.OutboxTried(t.local(), string(verdict))
		if !verdict.final() {
			t.failed(it.Contract, verdict, err, working)
			return done, false
		}
		t.succeeded(it.Contract)
		if err := t.settle(ctx, ev, verdict); err != nil {
			t.box.o.Log.Error("outbox: a delivery was not noted", "err", err)
		}
		done = append(done, it.N)
	}
	return done, true
}

// settle makes known that this relay has an event now, or that nobody is to have it.
func (t *target) settle(ctx context.Context, ev *nostr.Event, v verdict) error {
	switch {
	case v == withdrawn:
		return t.box.o.Store.OutboxWithdraw(ctx, ev.ID)
	case t.local() && t.box.delivered != nil:
		return t.box.delivered(ctx, ev)
	}
	return nil
}

// available reports whether the target is not left alone.
func (t *target) available() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.box.o.Clock().Before(t.until)
}

// failed notes a failure of the target, or of the lane. A failure of a target that worked until then is its lane's too:
// if it was this event that ended the connection, others must not wait behind it.
func (t *target) failed(contract string, v verdict, err error, working bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.box.o.Clock()
	if v == refused || working {
		l := t.lanes[contract]
		l.failures++
		l.until = now.Add(pause(l.failures))
		t.lanes[contract] = l
		t.complain("a relay refused an entry; it is sent again later", l.failures, err)
	}
	if v == failed && !now.Before(t.until) {
		t.failures++
		t.until = now.Add(pause(t.failures))
		t.complain("no delivery to a relay; what waits is sent later", t.failures, err)
	}
}

// complain logs the 1st, 2nd, 4th, 8th, … failure in a row.
func (t *target) complain(text string, failures int, err error) {
	if failures&(failures-1) != 0 {
		return
	}
	name := t.name
	if t.local() {
		name = "this relay"
	}
	t.box.o.Log.Warn("outbox: "+text, "relay", name, "failures", failures, "reason", reason(err))
	t.box.o.Log.Debug("outbox: "+text, "relay", name, "err", err)
}

func (t *target) succeeded(contract string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = 0
	delete(t.lanes, contract)
}

// prune forgets lanes that nothing waits in, after a pass that saw all.
func (t *target) prune(blocked map[string]bool) {
	for contract := range t.lanes {
		if !blocked[contract] {
			delete(t.lanes, contract)
		}
	}
}

// next is how long it is until a lane may be tried again; 0 without one.
func (t *target) next() (wait time.Duration) {
	now := t.box.o.Clock()
	for _, l := range t.lanes {
		if d := max(l.until.Sub(now), time.Millisecond); wait == 0 || d < wait {
			wait = d
		}
	}
	return wait
}
