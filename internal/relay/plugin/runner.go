package plugin

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/time/rate"

	"engramd/internal/relay/fairness"
)

const (
	minDelay = 50 * time.Millisecond // before a program that did answer is started again
	maxDelay = 10 * time.Second      // before one that never does
	patience = 10                    // timeouts that a writer waits for its turn and its answer, while others get theirs
)

// runner keeps one command running.
type runner struct {
	Options
	turns  *fairness.Turns
	talk   atomic.Pointer[talk] // nil while no process runs
	quiet  *rate.Limiter        // of complaints about the program
	stderr *rate.Limiter
	begun  func() // called once the program was started, or could not be
	cancel context.CancelFunc
	done   chan struct{}
}

// newRunner returns when the program was started for the first time, or could
// not be: whoever asks from then on finds it there.
func newRunner(o Options) *runner {
	first := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	r := &runner{
		Options: o, turns: fairness.NewTurns(window, 0), cancel: cancel, done: make(chan struct{}),
		begun: sync.OnceFunc(func() { close(first) }),
		quiet: rate.NewLimiter(1, 5), stderr: rate.NewLimiter(complaintsRate, complaintsBurst),
	}
	go r.run(ctx)
	<-first
	return r
}

// run starts the program again whenever it ends.
func (r *runner) run(ctx context.Context) {
	defer close(r.done)
	runtime.LockOSThread() // a process that was left behind by kill -9 ends with this thread
	defer runtime.UnlockOSThread()
	delay := time.Duration(0)
	for {
		worked, err := r.once(ctx)
		if ctx.Err() != nil {
			return
		}
		r.Metrics.ProgramEnded()
		if delay = min(delay*2, maxDelay); worked || delay == 0 {
			delay = minDelay
		}
		if r.quiet.Allow() {
			r.Log.Error("the write policy program failed; events are refused with error: until it runs", "err", err, "again_in", delay.String())
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
	}
}

// once runs the program to its end, and says whether it ever answered.
func (r *runner) once(ctx context.Context) (worked bool, err error) {
	defer r.begun()
	c, err := r.spawn(r.Command, r.Env)
	if err != nil {
		return false, err
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		logLines(c.stderr, r.Log, r.stderr)
	}()
	t := newTalk(c, r.Timeout)
	r.talk.Store(t)
	r.begun()
	r.Log.Info("the write policy program runs")
	err = t.run(ctx)
	r.talk.Store(nil)
	select {
	case <-said:
	case <-time.After(3 * endGrace): // whoever holds its output open is not waited for
	}
	if end := c.wait(); end != nil && ctx.Err() == nil {
		err = errors.Join(err, end)
	}
	return t.speaks(), err
}

// errDown means that no process runs just now.
var errDown = errors.New("the write policy program does not run")

// ask asks about an event, when its turn has come.
func (r *runner) ask(ctx context.Context, ev *nostr.Event) (answer, error) {
	if r.talk.Load() == nil {
		return answer{}, errDown
	}
	ctx, cancel := context.WithTimeout(ctx, patience*r.Timeout)
	defer cancel()
	turn, err := r.turns.Take(ctx, fairness.From(ctx), false)
	if err != nil {
		return answer{}, errBusy
	}
	defer turn.Done()
	t := r.talk.Load()
	if t == nil {
		return answer{}, errDown
	}
	return t.ask(ctx, ev.ID, r.question(ctx, ev, time.Now()))
}

// stop ends the process and waits for that.
func (r *runner) stop() {
	r.cancel()
	<-r.done
}

// retire stops the runner when those who ask it have their answers, or had the
// time for that: it takes all places, so that nobody is at the program any
// more.
func (r *runner) retire() {
	ctx, cancel := context.WithTimeout(context.Background(), r.Timeout)
	defer cancel()
	for range window {
		turn, err := r.turns.Take(ctx, fairness.Who{}, false)
		if err != nil {
			break
		}
		defer turn.Done() // who waited finds nobody there, and asks the one that came after
	}
	r.stop()
}
