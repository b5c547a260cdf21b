package mcp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"engramd/nips/nipae"
)

const (
	// maxRunning is how many calls ask relays at the same time.
	maxRunning = 8
	// maxCalls is how many calls may be there, most of them waiting.
	maxCalls = 64
	// When the relays are looked for again: after a while, sooner if they could
	// not be found out or the last answer was partial.
	discoverEvery = 10 * time.Minute
	discoverAgain = 30 * time.Second
)

var (
	errBusy   = errors.New("too many calls at once")
	errWaited = errors.New("other calls took all the time there was")
)

// door lets calls to the relays, few at a time, and finds out which relays
// those are while nobody is inside.
type door struct {
	calls    atomic.Int32
	turn     chan struct{} // held by the one who stands in the door
	places   chan struct{} // held by those inside
	discover func(ctx context.Context) error
	clock    func() time.Time

	mu    sync.Mutex
	next  time.Time // when to discover again; zero is now
	found time.Time
}

func newDoor(discover func(ctx context.Context) error, clock func() time.Time) *door {
	return &door{turn: make(chan struct{}, 1), places: make(chan struct{}, maxRunning), discover: discover, clock: clock}
}

// arrive counts a call; the error is errBusy. Every call that arrives leaves.
func (d *door) arrive() error {
	if d.calls.Add(1) > maxCalls {
		d.calls.Add(-1)
		return errBusy
	}
	return nil
}

func (d *door) leave() { d.calls.Add(-1) }

// enter waits for a place inside. The error is errWaited or that of ctx.
func (d *door) enter(ctx context.Context) (exit func(), err error) {
	if err := take(ctx, d.turn); err != nil {
		return nil, err
	}
	defer func() { <-d.turn }()
	if d.due() {
		if err := d.look(ctx); err != nil {
			return nil, err
		}
	}
	if err := take(ctx, d.places); err != nil {
		return nil, err
	}
	return func() { <-d.places }, nil
}

// look discovers once all are out.
func (d *door) look(ctx context.Context) error {
	for inside := range maxRunning {
		if err := take(ctx, d.places); err != nil {
			d.vacate(inside)
			return err
		}
	}
	defer d.vacate(maxRunning)
	err := d.discover(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found = d.clock()
	d.next = d.found.Add(discoverEvery)
	if err != nil {
		d.next = d.found.Add(discoverAgain)
	}
	if ctx.Err() != nil {
		d.next = time.Time{} // it was cut short: that says nothing
	}
	return nil
}

func (d *door) vacate(places int) {
	for range places {
		<-d.places
	}
}

func (d *door) due() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.discover != nil && !d.clock().Before(d.next)
}

// doubt says that an answer was partial or none, which may be because the
// relays are others.
func (d *door) doubt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if soon := d.found.Add(discoverAgain); !d.found.IsZero() && soon.Before(d.next) {
		d.next = soon
	}
}

// take puts a token into c, or fails as ctx does.
func take(ctx context.Context, c chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return waited(err)
	}
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return waited(ctx.Err())
	}
}

func waited(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errWaited
	}
	return err
}

// locks are one lock for each slug that is in use.
type locks struct {
	mu    sync.Mutex
	slugs map[nipae.Slug]*lock
}

type lock struct {
	held  chan struct{}
	users int // those who hold it or wait for it
}

func newLocks() *locks { return &locks{slugs: map[nipae.Slug]*lock{}} }

// lock waits until nobody else writes at the slug. The error is as of enter.
func (l *locks) lock(ctx context.Context, slug nipae.Slug) (unlock func(), err error) {
	l.mu.Lock()
	one := l.slugs[slug]
	if one == nil {
		one = &lock{held: make(chan struct{}, 1)}
		l.slugs[slug] = one
	}
	one.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.slugs, slug)
		}
	}
	if err := take(ctx, one.held); err != nil {
		leave()
		return nil, err
	}
	return func() {
		<-one.held
		leave()
	}, nil
}
