package outbox

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
)

const (
	// pageSize is how many events are read, and acknowledged, at a time.
	pageSize = 64
	// parallel is how many contracts of a target are served at a time.
	parallel = 8
)

// target is one relay: an actor that owns the state of its failures. Only run
// touches that state, and under mu the goroutines of one pass.
type target struct {
	box  *Outbox
	name string
	at   int // 0 is this relay, n the nth of Options.Targets
	to   carrier
	wake chan struct{} // holds a token when there may be something to do
	all  atomic.Bool   // events seen before may have to be tried too

	mu       sync.Mutex
	failures int       // of the target in a row
	until    time.Time // the target is left alone until then
	lanes    map[string]lane

	// Where the last pass that saw everything ended, and the lanes in which it
	// left something. A pass for new events goes on from there, so that a long
	// queue costs writers nothing.
	seen    int64
	blocked map[string]bool
}

func newTarget(b *Outbox, name string, at int, to carrier) *target {
	t := &target{box: b, name: name, at: at, to: to, wake: make(chan struct{}, 1), lanes: map[string]lane{}}
	t.all.Store(true)
	return t
}

func (t *target) local() bool { return t.name == store.OutboxLocal }

// rouse makes the target look for new events, or, with all, at all that wait.
func (t *target) rouse(all bool) {
	if all {
		t.all.Store(true)
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run delivers waiting events whenever one is queued and whenever a pause is
// over, until ctx ends.
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
			t.all.Store(true)
		}
	}
}

// pass tries everything that may be tried now, and returns how long to wait
// until something may be tried again; 0 means until an event is queued.
func (t *target) pass(ctx context.Context) time.Duration {
	if wait := t.until.Sub(t.box.o.Clock()); wait > 0 {
		return wait
	}
	if t.all.Swap(false) {
		t.seen, t.blocked = 0, map[string]bool{}
	}
	after := t.seen
	for ctx.Err() == nil {
		items, err := t.box.o.Store.Outbox(ctx, t.name, after, pageSize)
		if err != nil {
			return t.storeFailed(ctx, err)
		}
		if len(items) == 0 {
			t.seen = after
			t.prune(t.blocked)
			return t.next(t.blocked)
		}
		after = items[len(items)-1].N
		done := t.serve(ctx, t.split(items))
		if len(done) > 0 {
			if err := t.box.o.Store.Tell(ctx, store.OutboxDone{Target: t.name, Numbers: done}); err != nil {
				return t.storeFailed(ctx, err)
			}
			if t.local() {
				t.box.rouse(true)
			}
		}
		if wait := t.until.Sub(t.box.o.Clock()); wait > 0 {
			t.all.Store(true)
			return wait
		}
	}
	return 0
}

// storeFailed pauses everything for a while.
func (t *target) storeFailed(ctx context.Context, err error) time.Duration {
	if ctx.Err() == nil {
		t.box.o.Log.Error("outbox: the database failed", "err", err)
	}
	t.all.Store(true)
	return firstPause
}

// split groups a page's events by contract, and leaves out those that must not
// be tried now.
func (t *target) split(items []store.OutboxItem) [][]task {
	now := t.box.o.Clock()
	index := map[string]int{}
	var contracts [][]task
	for _, it := range items {
		x := taskOf(it)
		if it.Ahead || now.Before(t.lanes[x.lane].until) {
			t.blocked[x.lane] = true
		}
		if x.held(t.blocked) {
			continue
		}
		i, ok := index[it.Contract]
		if !ok {
			i = len(contracts)
			index[it.Contract] = i
			contracts = append(contracts, nil)
		}
		contracts[i] = append(contracts[i], x)
	}
	return contracts
}

// serve delivers contracts side by side, and returns the numbers of the events
// that are done.
func (t *target) serve(ctx context.Context, contracts [][]task) (done []int64) {
	turn := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for _, tasks := range contracts {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			numbers := t.follow(ctx, tasks)
			t.mu.Lock()
			defer t.mu.Unlock()
			done = append(done, numbers...)
		})
	}
	wg.Wait()
	return done
}

// follow delivers the events of one contract in order. An event that is not
// taken holds its lane, and the lanes that build on it.
func (t *target) follow(ctx context.Context, tasks []task) (done []int64) {
	for i := range tasks {
		x := &tasks[i]
		if !t.mayTry(x) {
			continue
		}
		if x.ev == nil {
			t.box.o.Log.Error("outbox: an event is damaged and is not published")
			done = append(done, x.N)
			continue
		}
		verdict, err := t.to.carry(ctx, x.ev)
		if ctx.Err() != nil && !verdict.final() {
			return done // the end of the process is not a failure
		}
		if !verdict.final() && t.failed(ctx, x, verdict, err) {
			verdict = abandoned
		}
		t.box.o.Observe(t.at, string(verdict))
		if !verdict.final() {
			t.hold(x)
			continue
		}
		if verdict == abandoned {
			continue // it is off the list
		}
		t.succeeded(x.lane)
		if err := t.settle(ctx, x.ev, verdict, err); err != nil {
			t.box.o.Log.Error("outbox: a delivery was not noted", "err", err)
		}
		done = append(done, x.N)
	}
	return done
}

// settle records that this relay has an event now, or that no relay is to get
// it, and why.
func (t *target) settle(ctx context.Context, ev *nostr.Event, v verdict, why error) error {
	switch {
	case v == withdrawn:
		return t.box.o.Store.OutboxRefused(ctx, t.name, ev, reason(why), true)
	case t.local() && t.box.delivered != nil:
		return t.box.delivered(ctx, ev)
	}
	return nil
}

// mayTry reports whether a task may be tried: the target is not paused, and
// nothing is held that the task has to follow.
func (t *target) mayTry(x *task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.box.o.Clock().Before(t.until) {
		t.blocked[x.lane] = true
	}
	return !x.held(t.blocked)
}

func (t *target) hold(x *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blocked[x.lane] = true
}
