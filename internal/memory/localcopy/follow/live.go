package follow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

const (
	// queued is how many events may wait for the copy.
	queued = 1024
	// maxLive and maxRepeats are how many events a relay may send in one session,
	// and how many of them again: who signs that much, or says it that often, is
	// begun with anew, later and later.
	maxLive    = 100_000
	maxRepeats = 1000
)

// errNotLive means that a relay answers and does not tell what comes.
var errNotLive = errors.New("it does not tell what comes")

// listener takes what arrives at a relay. What it is given waits in a queue, so
// that the copy does not hold up what else the connection carries.
type listener struct {
	f       *Follower
	src     Source
	queue   chan *nostr.Event
	stored  chan struct{} // closed once the question is open
	ended   chan struct{} // closed when it is open no more
	written chan struct{} // closed when the queue is in the copy
	err     error         // why it ended; set before ended is closed
}

// listen begins; wait ends it, once its context is over.
func (f *Follower) listen(ctx context.Context, src Source) *listener {
	l := &listener{f: f, src: src, queue: make(chan *nostr.Event, queued),
		stored: make(chan struct{}), ended: make(chan struct{}), written: make(chan struct{})}
	go func() {
		defer close(l.queue)
		defer close(l.ended)
		l.err = l.live(ctx)
	}()
	go l.write(ctx)
	return l
}

// failed is why it ended; nil if it has not.
func (l *listener) failed() error {
	select {
	case <-l.ended:
		return l.err
	default:
		return nil
	}
}

// open waits for the question to be open, and reports whether it is.
func (l *listener) open(ctx context.Context) bool {
	select {
	case <-l.stored:
		return true
	case <-l.ended:
	case <-l.f.o.After(livePatience):
	case <-ctx.Done():
	}
	return false
}

func (l *listener) live(ctx context.Context) error {
	q := l.f.o.Filter
	q.LimitZero = true
	seen := map[string]bool{}
	repeats, open := 0, false
	take := func(ev *nostr.Event) error {
		if seen[ev.ID] {
			if repeats++; repeats > maxRepeats {
				return fmt.Errorf("%w: it sent the same %d times", client.ErrMisbehaved, repeats)
			}
			return nil
		}
		if seen[ev.ID] = true; len(seen) > maxLive {
			return fmt.Errorf("%w: it sent more than %d events", client.ErrMisbehaved, maxLive)
		}
		select {
		case l.queue <- ev:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.src.Live(ctx, q, take, func() {
		if !open {
			open = true
			close(l.stored)
		}
	})
}

// write puts what waits, as much at once as there is.
func (l *listener) write(ctx context.Context) {
	defer close(l.written)
	for ev := range l.queue {
		events := []*nostr.Event{ev}
		for len(events) < batch && len(l.queue) > 0 {
			if ev, more := <-l.queue; more {
				events = append(events, ev)
			}
		}
		if _, err := l.f.o.Store.Put(context.WithoutCancel(ctx), l.src.Canonical(), events); err != nil {
			// The next pass finds them missing.
			l.f.o.Log.Warn("the local copy does not take what came", "error", err)
		}
	}
}

// Ask says how a copy is caught up.
type Ask struct {
	Depth Depth
	// Grace is how long relays are waited for once another is confirmed, if it
	// took less long than that itself, or while they send nothing; 0 waits for all
	// of them.
	Grace time.Duration
	// Progress is told how many events have come of how many, as far as that is
	// known; nil tells nobody.
	Progress func(done, of int)
}

// CatchUp brings the copy up to date once, with all relays at the same time,
// within ctx. What became of each is in the order in which they are asked; what
// came before the time was over is in the copy. The error is the copy's own.
func (f *Follower) CatchUp(ctx context.Context, ask Ask) ([]Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sources, _ := f.o.Sources()
	out := make([]Outcome, len(sources))
	sum := &progress{tell: ask.Progress, done: make([]int, len(sources)), of: make([]int, len(sources))}
	patience := &patience{grace: ask.Grace, start: time.Now(), end: func() { cancel(errGrace) }}
	defer patience.stop()
	var running sync.WaitGroup
	for i, src := range sources {
		running.Go(func() {
			var tell func(int, int)
			if ask.Progress != nil {
				tell = func(done, of int) { sum.add(i, done, of) }
			}
			out[i] = f.pass(ctx, src, ask.Depth, tell, patience.alive)
			if out[i].Err == nil {
				patience.confirmed()
			} else if errors.Is(context.Cause(ctx), errGrace) && !errors.Is(out[i].Err, errStore) {
				out[i].Err = errGrace
			}
		})
	}
	running.Wait()
	for _, o := range out {
		if errors.Is(o.Err, errStore) {
			return out, o.Err
		}
	}
	if err := f.forget(context.WithoutCancel(ctx)); err != nil {
		return out, broken(err)
	}
	return out, nil
}

// errGrace is what a relay failed with that was not waited for.
var errGrace = fmt.Errorf("%w: others had answered", client.ErrTimeout)

// patience ends the waiting some time after the first relay was confirmed, once
// nobody sends anything any more.
type patience struct {
	grace time.Duration
	start time.Time
	end   func()
	heard atomic.Int64 // when the last event came, after start

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// alive notes that an event has come.
func (p *patience) alive() { p.heard.Store(int64(time.Since(p.start))) }

func (p *patience) confirmed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.grace > 0 && p.timer == nil {
		p.timer = time.AfterFunc(max(p.grace, time.Since(p.start)), p.due)
	}
}

func (p *patience) due() {
	p.mu.Lock()
	defer p.mu.Unlock()
	silent := time.Since(p.start) - time.Duration(p.heard.Load())
	switch {
	case p.over:
	case silent < p.grace:
		p.timer.Reset(p.grace - silent)
	default:
		p.end()
	}
}

func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// progress sums up what several relays have sent.
type progress struct {
	mu       sync.Mutex
	tell     func(done, of int)
	done, of []int
}

func (p *progress) add(i, done, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[i], p.of[i] = done, of
	for j := range p.done {
		if j != i {
			done, of = done+p.done[j], of+p.of[j]
		}
	}
	p.tell(done, of)
}
