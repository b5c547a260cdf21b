package snapshots

import (
	"errors"
	"testing"
	"time"

	"engramd/internal/snapshot"
)

// A clock that is not confirmed removes no snapshot, and what was done by a wrong
// one delays nothing.
func TestNoSnapshotGoesByAClockThatIsNotConfirmed(t *testing.T) {
	const day = 24 * time.Hour
	for _, ahead := range []time.Duration{60 * day, 400 * day} {
		t.Run(ahead.String(), func(t *testing.T) {
			believed := true
			w := newWorld(t, func(o *Options) {
				o.Confirmed = func() bool { return believed }
				o.Settings = Settings{Every: time.Hour, GCInterval: 5 * time.Hour, Policy: snapshot.Policy{Keep: 1, KeepAutomatic: 1, MaxAge: 30 * day}}
			})
			worker := NewWorker(w.Service, nil)
			for i := range int64(3) {
				w.put("mem/a", i)
				w.create()
				w.clock.Add(time.Second)
			}
			believed = false
			w.clock.Add(ahead)
			if next := worker.turn(t.Context()); next != clockWait {
				t.Errorf("it sleeps %v", next)
			}
			made := len(w.list())
			if made < 3 {
				t.Fatalf("%d bundles are left", made)
			}
			if _, err := w.Sweep(t.Context(), w.Settings().Policy); !errors.Is(err, ErrClock) {
				t.Errorf("by command: %v", err)
			}
			w.clock.Add(-ahead)
			believed = true
			w.put("mem/a", 10)
			if next := worker.turn(t.Context()); next != time.Hour {
				t.Errorf("by the right clock it sleeps %v", next)
			}
			if n := len(w.list()); n >= made {
				t.Errorf("by the right clock %d of %d bundles are left", n, made)
			}
		})
	}
}
