package follow

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// lookEvery is how often it is looked which relays are asked.
	lookEvery = 10 * time.Second
	// askEvery is how often a relay is compared that is followed: well within the
	// time after which a copy counts as stale.
	askEvery = 25 * time.Second
	// Pauses after failures, first and at most, before jitter takes up to half.
	firstPause = time.Second
	mostPause  = 2 * time.Minute
	// steadyAfter is how long a relay must be followed until its next failure
	// counts as the first again.
	steadyAfter = time.Minute
	// livePatience is how long a live question may take to open.
	livePatience = 10 * time.Second
	// passPatience bounds a pass of a server, so that a relay that trickles is
	// begun with anew.
	passPatience = 2 * time.Minute
)

// run follows one relay.
type run struct {
	src    Source
	cancel context.CancelFunc
	done   chan struct{}
	passed chan struct{} // closed after the first pass, however it went

	once      sync.Once
	confirmed bool // by the first pass
}

// Run follows all relays until ctx ends, and then waits until nothing is on its
// way into the copy. A relay that is asked no more is left alone.
func (f *Follower) Run(ctx context.Context) {
	first := true
	for ctx.Err() == nil {
		f.look(ctx)
		if err := f.forget(ctx); err != nil && ctx.Err() == nil {
			f.o.Log.Warn("cannot forget relays that are not asked any more", "error", err)
		}
		if first {
			first = false
			close(f.started)
		}
		select {
		case <-f.o.After(lookEvery):
		case <-ctx.Done():
		}
	}
	if first {
		close(f.started)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for relay, r := range f.running {
		r.cancel()
		<-r.done
		delete(f.running, relay)
	}
}

// look begins to follow relays that are asked, and ends those that are not. One
// that may only not be known just now goes on.
func (f *Follower) look(ctx context.Context) {
	sources, all := f.o.Sources()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, src := range sources {
		if f.running[src.Canonical()] == nil {
			f.running[src.Canonical()] = f.start(ctx, src)
		}
	}
	for relay, r := range f.running {
		asked := slices.ContainsFunc(sources, func(s Source) bool { return s.Canonical() == relay })
		if all && !asked {
			r.cancel()
			<-r.done
			delete(f.running, relay)
		}
	}
}

func (f *Follower) start(ctx context.Context, src Source) *run {
	ctx, cancel := context.WithCancel(ctx)
	r := &run{src: src, cancel: cancel, done: make(chan struct{}), passed: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer r.once.Do(func() { close(r.passed) })
		f.follow(ctx, r)
	}()
	return r
}

// Await returns once every relay that is followed has been compared, or was
// tried, once; or when ctx ends. Once one was confirmed, the others are waited for
// as long again, at least for grace; 0 waits for all of them.
func (f *Follower) Await(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	select {
	case <-f.started:
	case <-ctx.Done():
		return
	}
	f.mu.Lock()
	patience := &patience{grace: grace, start: time.Now(), end: cancel}
	defer patience.stop()
	var waiting sync.WaitGroup
	for _, r := range f.running {
		waiting.Go(func() {
			select {
			case <-r.passed:
				if r.confirmed {
					patience.confirmed()
				}
			case <-ctx.Done():
			}
		})
	}
	f.mu.Unlock()
	waiting.Wait()
}

// follow follows one relay: session after session, with a pause where one did
// not go well.
func (f *Follower) follow(ctx context.Context, r *run) {
	depth := Full
	for failures := 0; ctx.Err() == nil; {
		began := f.o.Clock()
		confirmed, err := f.session(ctx, r, depth)
		if ctx.Err() != nil {
			return
		}
		most := mostPause
		if confirmed {
			depth, most = Quick, askEvery // it answers, and may do so again
		}
		if confirmed && f.o.Clock().Sub(began) >= steadyAfter {
			failures = 0
		}
		pause := min(firstPause<<min(failures, 20), most)
		pause = pause/2 + time.Duration(f.o.Jitter()*float64(pause/2))
		failures++
		f.o.Log.Debug("a relay is not followed", "relay", r.src.URL(), "again_in", pause, "error", err)
		select {
		case <-f.o.After(pause):
		case <-ctx.Done():
		}
	}
}

// session follows one relay until something fails. confirmed says that it was
// compared and found alike meanwhile.
func (f *Follower) session(ctx context.Context, r *run, depth Depth) (confirmed bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	l := f.listen(ctx, r.src)
	defer func() { <-l.ended; <-l.written }()
	defer cancel()
	opened := l.open(ctx)
	for {
		passing, done := context.WithTimeout(ctx, passPatience)
		out := f.pass(passing, r.src, depth, nil, nil)
		done()
		r.once.Do(func() { r.confirmed = out.Err == nil; close(r.passed) })
		if out.Err != nil {
			return confirmed, out.Err
		}
		confirmed, depth = true, Quick
		if !opened {
			return confirmed, errors.Join(errNotLive, l.failed())
		}
		select {
		case <-l.ended:
			return confirmed, l.failed()
		case <-f.o.After(askEvery):
		case <-ctx.Done():
			return confirmed, ctx.Err()
		}
	}
}
