package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A relay that hangs must not hold up what the others have answered. Where an
// answer may be partial, a relay is waited for only for a while after the last
// of the others: it is given up with errHurried, and the answer is marked.
// Where nothing was found, the question is asked again with all the time there
// is, because "absent" needs every relay. A relay that was given up is waited
// for less long at the next questions, until it answers one.

const (
	// graceShare is the part of the time left that a relay is waited for at most.
	graceShare = 2
	// silentShare is the part of its grace that a relay gets which has let a
	// question time out in the last silence.
	silentShare = 4
	silence     = 30 * time.Second
)

// errHurried is what a relay failed with that was not waited for.
var errHurried = fmt.Errorf("%w: the others had answered", ErrTimeout)

// Hurried reports whether some relay was not waited for.
func Hurried(relays []RelayStatus) bool {
	return slices.ContainsFunc(relays, func(r RelayStatus) bool { return errors.Is(r.Err, errHurried) })
}

type race struct {
	mu       sync.Mutex
	start    time.Time
	answered bool // by at least one relay
	waiting  map[string]*runner
}

// runner is a relay that has not answered.
type runner struct {
	grace  time.Duration
	giveUp context.CancelCauseFunc
	timer  *time.Timer // runs once another relay has answered
}

// Hurry makes of what is done at each relay one that ends in time. failure is
// where a result has its error.
func Hurry[T any](ctx context.Context, c *Client, targets []Target, do func(context.Context, Target) T, failure func(*T) *error) func(context.Context, Target) T {
	r := &race{start: time.Now(), waiting: map[string]*runner{}}
	inner := map[string]context.Context{}
	for _, t := range targets {
		within, giveUp := context.WithCancelCause(ctx)
		inner[t.Canonical] = within
		r.waiting[t.Canonical] = &runner{grace: c.silent.grace(ctx, c.o.Grace, t), giveUp: giveUp}
	}
	return func(ctx context.Context, t Target) T {
		within := inner[t.Canonical]
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(within, cancel)
		defer stop()
		out := do(ctx, t)
		err := failure(&out)
		if *err != nil && errors.Is(context.Cause(within), errHurried) {
			*err = errHurried
		}
		r.finish(t, *err)
		c.silent.heard(t, *err)
		return out
	}
}

// finish notes that a relay is done, and has the others hurry.
func (r *race) finish(t Target, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if done := r.waiting[t.Canonical]; done != nil {
		if done.timer != nil {
			done.timer.Stop()
		}
		done.giveUp(nil)
		delete(r.waiting, t.Canonical)
	}
	r.answered = r.answered || err == nil
	if !r.answered {
		return
	}
	// A relay that has much to send takes long, and the others' time is a measure
	// of that.
	took := time.Since(r.start)
	for _, w := range r.waiting {
		if w.timer != nil {
			w.timer.Stop()
		}
		w.timer = time.AfterFunc(max(w.grace, took), func() { w.giveUp(errHurried) })
	}
}

// silences are the relays that let a question time out.
type silences struct {
	mu sync.Mutex
	at map[string]time.Time // by canonical URL
}

// grace returns how long a relay is waited for when others have answered.
func (s *silences) grace(ctx context.Context, most time.Duration, t Target) time.Duration {
	grace := min(most, left(ctx)/graceShare)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, silent := s.at[t.Canonical]; silent && time.Since(at) < silence {
		grace /= silentShare
	}
	return grace
}

// heard notes whether a relay let a question time out.
func (s *silences) heard(t Target, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, ErrTimeout) {
		s.at[t.Canonical] = time.Now()
	} else {
		delete(s.at, t.Canonical)
	}
}
