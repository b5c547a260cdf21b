package snapshots

import (
	"context"
	"testing"
	"time"

	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// sleeper is a worker's time.After: each sleep is told, and ends when it is
// said to.
type sleeper struct {
	told chan time.Duration
	wake chan time.Time
}

func (s *sleeper) after(d time.Duration) <-chan time.Time {
	s.told <- d
	return s.wake
}

// TestWorker: bundles are made on time and only of what changed, retention runs
// on its own time, and settings that change count at once.
func TestWorker(t *testing.T) {
	settings := Settings{
		Every: time.Hour, GCInterval: 5 * time.Hour,
		Policy: snapshot.Policy{Keep: 30, KeepAutomatic: 2},
	}
	w := newWorld(t, func(o *Options) { o.Settings = settings })
	w.put("mem/a", 0)
	byHand := w.create()
	w.clock.Add(time.Minute)

	s := &sleeper{make(chan time.Duration), make(chan time.Time)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { NewWorker(w.Service, s.after).Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	check := func(step string, slept time.Duration, bundles int) {
		t.Helper()
		if got := <-s.told; got != slept {
			t.Errorf("%s: it sleeps %v, want %v", step, got, slept)
		}
		if got := len(w.list()); got != bundles {
			t.Errorf("%s: %d bundles, want %d", step, got, bundles)
		}
	}
	pass := func(d time.Duration) { w.clock.Add(d); s.wake <- w.clock.Now() }

	check("at the start", time.Hour, 2)
	if newest := w.list()[0]; newest.CreatedBy != bundle.ByScheduled || !newest.Verified() || newest.Label != "scheduled" {
		t.Errorf("%+v", newest)
	}
	pass(time.Hour)
	check("nothing changed", time.Hour, 2)
	for hour := range 3 {
		w.put("mem/a", int64(hour)+1)
		pass(time.Hour)
		check("changed", time.Hour, 3+hour)
	}
	w.put("mem/a", 10)
	pass(time.Hour) // retention leaves two, the schedule adds one
	check("with retention", time.Hour, 1+2+1)
	if list := w.list(); list[len(list)-1].ID != byHand.ID {
		t.Errorf("the one made by hand is gone: %+v", list)
	}

	settings.Every = 0
	w.Configure(settings)
	check("without a schedule", 5*time.Hour, 4)
	settings.GCInterval = 0
	w.Configure(settings)
	check("with nothing to do", never, 4)
	settings.Every = time.Hour
	w.put("mem/b", 11)
	w.clock.Add(30 * time.Minute)
	w.Configure(settings)
	check("half an hour after the last", 30*time.Minute, 4)
	pass(30 * time.Minute)
	check("an hour after the last", time.Hour, 5)
}

// TestWorkerStartedAgain makes no bundle before its time, whatever has changed.
func TestWorkerStartedAgain(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Settings.Every = time.Hour })
	w.put("mem/a", 0)
	NewWorker(w.Service, nil).turn(t.Context())
	w.put("mem/a", 1)
	w.clock.Add(59 * time.Minute)
	NewWorker(w.Service, nil).turn(t.Context())
	if n := len(w.list()); n != 1 {
		t.Errorf("%d bundles within an hour", n)
	}
	w.clock.Add(time.Minute)
	NewWorker(w.Service, nil).turn(t.Context())
	if n := len(w.list()); n != 2 {
		t.Errorf("%d bundles after an hour", n)
	}
}

// TestWorkerOfOneNodeOfSeveral: retention runs on every node, the schedule where
// it is said to, from when it is said.
func TestWorkerOfOneNodeOfSeveral(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Settings = Settings{Every: time.Hour, GCInterval: 5 * time.Hour, Policy: snapshot.Policy{Keep: 30, KeepAutomatic: 2}}
	})
	w.put("mem/a", 0)
	s := &sleeper{make(chan time.Duration), make(chan time.Time)}
	worker := NewWorker(w.Service, s.after)
	worker.Schedule(false)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { worker.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	check := func(step string, slept time.Duration, bundles int) {
		t.Helper()
		if got := <-s.told; got != slept {
			t.Errorf("%s: it sleeps %v, want %v", step, got, slept)
		}
		if got := len(w.list()); got != bundles {
			t.Errorf("%s: %d bundles, want %d", step, got, bundles)
		}
	}
	check("elsewhere", 5*time.Hour, 0)
	check("woken by the word before", 5*time.Hour, 0)
	worker.Schedule(true)
	check("here", time.Hour, 1)
	w.put("mem/a", 1)
	worker.Schedule(false)
	check("elsewhere again", 5*time.Hour, 1)
	w.clock.Add(2 * time.Hour)
	worker.Schedule(true)
	check("here again", time.Hour, 2)
}
