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
	// maxCalls is how many calls may be running or waiting.
	maxCalls = 64
	// When the relays are discovered again: after a while, sooner if that
	// failed or if the last answer was partial.
	discoverEvery = 10 * time.Minute
	discoverAgain = 30 * time.Second
)

var (
	errBusy   = errors.New("too many calls at once")
	errWaited = errors.New("other calls took all the time there was")
)

// limiter bounds the calls that ask the relays at the same time, and discovers
// which relays those are while no call is running.
type limiter struct {
	calls    atomic.Int32
	turn     chan struct{} // held by the call that is about to take a place
	places   chan struct{} // held by running calls
	discover func(ctx context.Context) error
	clock    func() time.Time

	mu    sync.Mutex
	next  time.Time // when to discover again; zero is now
	found time.Time
}

func newLimiter(discover func(ctx context.Context) error, clock func() time.Time) *limiter {
	return &limiter{turn: make(chan struct{}, 1), places: make(chan struct{}, maxRunning), discover: discover, clock: clock}
}

// arrive counts a call; the error is errBusy. Every call that arrives must
// leave.
func (l *limiter) arrive() error {
	if l.calls.Add(1) > maxCalls {
		l.calls.Add(-1)
		return errBusy
	}
	return nil
}

func (l *limiter) leave() { l.calls.Add(-1) }

// enter waits for a place. The error is errWaited or that of ctx.
func (l *limiter) enter(ctx context.Context) (exit func(), err error) {
	if err := take(ctx, l.turn); err != nil {
		return nil, err
	}
	defer func() { <-l.turn }()
	if l.due() {
		if err := l.look(ctx); err != nil {
			return nil, err
		}
	}
	if err := take(ctx, l.places); err != nil {
		return nil, err
	}
	return func() { <-l.places }, nil
}

// look discovers the relays once no call is running.
func (l *limiter) look(ctx context.Context) error {
	for inside := range maxRunning {
		if err := take(ctx, l.places); err != nil {
			l.vacate(inside)
			return err
		}
	}
	defer l.vacate(maxRunning)
	err := l.discover(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = l.clock()
	l.next = l.found.Add(discoverEvery)
	if err != nil {
		l.next = l.found.Add(discoverAgain)
	}
	if ctx.Err() != nil {
		l.next = time.Time{} // it was interrupted, which says nothing about the relays
	}
	return nil
}

func (l *limiter) vacate(places int) {
	for range places {
		<-l.places
	}
}

func (l *limiter) due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.discover != nil && !l.clock().Before(l.next)
}

// doubt notes that an answer was partial or missing, which may be because the
// agent's relays have changed.
func (l *limiter) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if soon := l.found.Add(discoverAgain); !l.found.IsZero() && soon.Before(l.next) {
		l.next = soon
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

// locks has one lock for each slug in use.
type locks struct {
	mu    sync.Mutex
	slugs map[nipae.Slug]*lock
}

type lock struct {
	held  chan struct{}
	users int // how many hold it or wait for it
}

func newLocks() *locks { return &locks{slugs: map[nipae.Slug]*lock{}} }

// lock waits until no other call writes at the slug. Its errors are those of
// enter.
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
