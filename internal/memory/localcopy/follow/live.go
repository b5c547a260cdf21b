package follow

import (
	"context"
	"errors"
	"fmt"

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

func (l *listener) wait() {
	<-l.ended
	<-l.written
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
