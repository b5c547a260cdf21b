package follow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/client"
)

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
