package daemon

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/clock"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

// By a clock that is not confirmed no signature of a call is forgotten: it could be
// used again by the right one.
func TestCallsAreKeptWhileTheClockIsNotConfirmed(t *testing.T) {
	believed := false
	c := calls{storetest.MustOpen(t), func() bool { return believed }}
	call := func(digit string, at int64) store.UsedCall {
		return store.UsedCall{ID: strings.Repeat(digit, 64), Key: strings.Repeat("a", 64), At: at}
	}
	for _, step := range []struct {
		believed bool
		call     store.UsedCall
		had      bool
	}{{true, call("1", 100), false}, {false, call("2", 9000), false}, {false, call("1", 9000), true}, {true, call("2", 9000), true}, {true, call("1", 9000), false}} {
		believed = step.believed
		had, err := c.UseCalls(t.Context(), []store.UsedCall{step.call}, step.call.At-1000)
		if err != nil || !slices.Equal(had, []bool{step.had}) {
			t.Errorf("%+v: %v, %v", step, had, err)
		}
	}
}

// run is a machine whose clock nothing confirms.
type run struct {
	name  string
	began time.Time
}

func (r run) Boot() (string, time.Duration)        { return r.name, time.Since(r.began) }
func (run) Synchronised() (now time.Time, ok bool) { return now, false }

// After a power cut the log's time stands where it was until the nodes that are still
// off do not count any more. It is not believed, and the machine's clock is.
func TestTheLogsTimeStandsAfterAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, stood := filepath.Join(t.TempDir(), clock.File), time.Now()
		var stands atomic.Bool
		var jumps atomic.Int64
		now := func() time.Time {
			if stands.Load() {
				return stood
			}
			return time.Now()
		}
		begin := func(name string) *timekeeper {
			return &timekeeper{Guard: clock.New(clock.Options{
				Path: path, Now: now, Machine: run{name, time.Now()}, Jumped: func() { jumps.Add(1) },
			})}
		}
		k := begin("before")
		k.arrived(true)(time.Now().Unix())
		k.Guard.Close()

		time.Sleep(8 * time.Hour)
		k = begin("after")
		k.arrived(false)(stood.Unix())
		if !k.Trusts(time.Now()) {
			t.Error("the first message of the node carries no clock")
		}
		stands.Store(true)
		k.start(func() time.Duration { return time.Since(now()) })
		for range 15 {
			time.Sleep(time.Second)
			if k.Confirmed() {
				t.Fatal("a time that stands is confirmed")
			}
		}
		stands.Store(false)
		time.Sleep(2 * time.Second)
		if !k.Confirmed() || !k.Trusts(time.Now()) || jumps.Load() > 0 {
			t.Errorf("confirmed: %v, trusted: %v, %d jumps", k.Confirmed(), k.Trusts(time.Now()), jumps.Load())
		}
		k.close()

		stands.Store(true) // for good: it is believed or not, as any clock
		k = begin("again")
		k.arrived(false)(stood.Unix())
		k.start(func() time.Duration { return time.Since(now()) })
		time.Sleep(2 * standing)
		k.close()
		if jumps.Load() == 0 {
			t.Error("nothing was said of a time that is hours behind")
		}
	})
}
