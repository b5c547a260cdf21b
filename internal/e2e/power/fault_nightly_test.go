//go:build nightly

package power

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// faults are calls that fail: each kind once, five times and until the disk is
// mended, at the first call, the second and a later one.
func faults() []fault {
	const forever = 1 << 40
	var all []fault
	for _, f := range []fault{
		{name: "write of the log: EIO", file: onLog, call: onWrite, errno: unix.EIO},
		{name: "write of the log: ENOSPC", file: onLog, call: onWrite, errno: unix.ENOSPC},
		{name: "half a write of the log", file: onLog, call: onWrite, half: 1, errno: unix.ENOSPC},
		{name: "sync of the log: EIO", file: onLog, call: onSync, errno: unix.EIO},
		{name: "cutting off the log: EIO", file: onLog, call: onTruncate, errno: unix.EIO},
		{name: "write of the database: EIO", file: onDatabase, call: onWrite, errno: unix.EIO},
		{name: "write of the database: ENOSPC", file: onDatabase, call: onWrite, errno: unix.ENOSPC},
		{name: "half a write of the database", file: onDatabase, call: onWrite, half: 1, errno: unix.ENOSPC},
		{name: "sync of the database: EIO", file: onDatabase, call: onSync, errno: unix.EIO},
		{name: "cutting off the database: EIO", file: onDatabase, call: onTruncate, errno: unix.EIO},
	} {
		for _, f.times = range []uint64{1, 5, forever} {
			for _, f.skip = range []uint64{0, 1, 7} {
				all = append(all, f)
			}
		}
	}
	return all
}

func (f fault) String() string {
	return fmt.Sprintf("%s, %d times from call %d on", f.name, f.times, f.skip+1)
}

// TestPower_Faults has a relay live through a disk that fails, one kind of call
// after the other. What it acknowledges is there, and what it answers with "error: "
// is not, unless the relay ended right behind a sync of its log that failed: while the disk fails, after a power cut at that time, where what a
// failed sync has left behind is gone, after a kill, and at the end. When the disk is
// mended it goes on, or it had ended with an error.
func TestPower_Faults(t *testing.T) {
	seed := rig.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 2))
	l := newLife(t, 2, seed)
	for _, b := range l.books {
		b.Faulty = true
	}
	relay := l.start(t)
	hit, ended := 0, 0
	var spans [][2]int64 // of the log: while the disk failed
	for i, f := range faults() {
		began := l.moment()
		l.fail(f)
		l.publish(t, relay, 10)
		if f.file == onDatabase || i%3 == 0 { // the end writes the log back
			if code, _ := relay.Stop(); code != 0 {
				ended++
			}
		}
		spans = append(spans, [2]int64{began, l.moment()})
		if l.failed() > 0 {
			hit++
		}
		l.fail(fault{})
		relay = l.mended(t, f, relay, began, i%3 == 1)
		l.publish(t, relay, 3)
	}
	stop(t, relay)
	for _, wrong := range holds(l.data(), l.books, l.moment()) {
		t.Errorf("at the end: %s", wrong)
	}
	ops := l.ops(t)
	var calls []int
	for _, s := range spans {
		from, to := behind(ops, s[0]), behind(ops, s[1])
		calls = append(calls, to)
		for range 2 {
			calls = append(calls, from+rng.IntN(max(1, to-from)))
		}
	}
	disks := l.cuts(t, ops, calls, seed, func(t *testing.T, c cut) {
		for _, wrong := range holds(c.data(), l.books, c.moment) {
			t.Errorf("%v: %s", c, wrong)
		}
	})
	t.Logf("%d faults, %d of them met, %d ends with an error; %d disks; %d events acknowledged", len(spans), hit, ended, disks, l.acknowledged())
	if hit < len(spans)*2/3 {
		t.Errorf("%d of %d faults were met: the rest proves nothing", hit, len(spans))
	}
}

// mended returns a relay on a disk that works again: the same one, if it has not
// ended and is not killed, and it stores an event.
func (l *life) mended(t *testing.T, f fault, relay *relaytest.Child, began int64, killed bool) *relaytest.Child {
	t.Helper()
	if killed {
		l.kill(t, relay)
	}
	select {
	case <-relay.Done():
		for _, b := range l.books {
			if f.file == onLog && f.call == onSync {
				b.Unsure(began)
			}
		}
		relay = l.start(t)
	default:
	}
	const most = 20 // it may look at the disk once a second
	k := relaytest.NewKey(2998)
	c := rig.Dial(t, relay)
	var last relaytest.OK
	for i := range most {
		if last = c.MustPublish(relaytest.Note(k, rig.Now(), fmt.Sprint(f, i))); last.True {
			return relay
		}
	}
	t.Fatalf("%v: the disk works again, and %d events are refused: %q\n%s", f, most, last.Message, relay.Log.Text())
	return nil
}
