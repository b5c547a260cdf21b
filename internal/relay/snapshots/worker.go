package snapshots

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// Worker is the daemon's own work on snapshots: retention, at its start and
// every GCInterval, and scheduled bundles. It owns the times of both; settings
// that change count from the last time on.
type Worker struct {
	s     *Service
	after func(time.Duration) <-chan time.Time
	swept time.Time // when retention last ran
	made  time.Time // when the schedule last ran
	idle  atomic.Bool
}

// NewWorker makes the worker of a Service; after is time.After in all but
// tests.
func NewWorker(s *Service, after func(time.Duration) <-chan time.Time) *Worker {
	return &Worker{s: s, after: after}
}

// Schedule says whether bundles are made on schedule here, as they are from the
// start on: of several nodes that hold the same memory one makes them. Retention
// runs on each, of the bundles that lie there.
func (w *Worker) Schedule(on bool) {
	w.idle.Store(!on)
	w.s.wakeWorker()
}

// never is how long a worker sleeps with nothing to do.
const never = 24 * time.Hour

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	for ctx.Err() == nil {
		next := w.turn(ctx)
		select {
		case <-ctx.Done():
		case <-w.s.changed:
		case <-w.after(next):
		}
	}
}

// turn does what is due and returns how long nothing will be.
func (w *Worker) turn(ctx context.Context) time.Duration {
	o := w.s.Settings()
	if now := w.s.clock(); o.GCInterval > 0 && due(w.swept, o.GCInterval, now) <= 0 {
		_, err := w.s.Sweep(ctx, o.Policy)
		if w.swept = now; errors.Is(err, ErrClock) {
			w.swept = now.Add(min(o.GCInterval, clockWait) - o.GCInterval)
		} else if err != nil && ctx.Err() == nil {
			w.s.log.Warn("retention of snapshots is not complete", "err", err)
		}
	}
	if w.idle.Load() {
		o.Every = 0
	}
	if now := w.s.clock(); o.Every > 0 && due(w.made, o.Every, now) <= 0 {
		// A daemon that was started again makes no bundle before its time.
		w.schedule(ctx, o, w.made.IsZero())
		w.made = now
	}
	now, next := w.s.clock(), never
	if o.GCInterval > 0 {
		next = min(next, due(w.swept, o.GCInterval, now))
	}
	if o.Every > 0 {
		next = min(next, due(w.made, o.Every, now))
	}
	return max(next, 0)
}

// clockWait is how soon retention that waits for the clock is tried again.
const clockWait = time.Minute

// due returns how long it is until something that was last done at a time. One that
// has not come yet is of a clock that was wrong.
func due(last time.Time, every time.Duration, now time.Time) time.Duration {
	if last.IsZero() || last.After(now) {
		return 0
	}
	return last.Add(every).Sub(now)
}

// schedule makes the bundles that are due.
func (w *Worker) schedule(ctx context.Context, o Settings, first bool) {
	agents := o.Agents
	if len(agents) == 0 {
		var err error
		if agents, err = w.s.store.Agents(ctx, gate.Operator()); err != nil {
			w.s.counted("scheduled", w.s.clock(), err)
			w.s.log.Error("the agents of whom to make snapshots could not be listed", "err", err)
			return
		}
	}
	for _, agent := range agents {
		if ctx.Err() != nil || w.idle.Load() {
			return
		}
		began := w.s.clock()
		err := w.s.scheduled(ctx, agent, o.Every, first)
		if ctx.Err() != nil {
			return
		}
		w.s.counted("scheduled", began, err)
		if err != nil && !errors.Is(err, errUnchanged) {
			w.s.log.Error("a scheduled snapshot could not be made", "err", err)
		}
	}
}

// scheduled makes a bundle of an agent unless the last scheduled one has the
// same heads or, with young, is younger than every.
func (s *Service) scheduled(ctx context.Context, agent string, every time.Duration, young bool) error {
	return s.locked(ctx, bundle.DefaultTenant, agent, func(l *snapshot.Lock) error {
		list, err := s.bundles.List(bundle.DefaultTenant, agent)
		if err != nil {
			return err
		}
		root := ""
		for _, info := range list {
			if info.CreatedBy != bundle.ByScheduled || !info.Verified() || info.ToCome(s.clock()) {
				continue
			}
			if young && s.clock().Sub(info.CreatedAt) < every {
				return errUnchanged
			}
			root = info.HeadsRoot
			break
		}
		_, err = s.create(ctx, l, CreateRequest{Tenant: bundle.DefaultTenant, Agent: agent, Label: "scheduled", By: bundle.ByScheduled}, root)
		if errors.Is(err, bundle.ErrEmpty) {
			return errUnchanged
		}
		return err
	})
}
