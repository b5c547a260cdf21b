package power

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPower_TenCuts is the short form of the nightly test: a relay that has begun,
// written and ended, and ten moments of that.
func TestPower_TenCuts(t *testing.T) {
	const seed = 1
	l := newLife(t, 2, seed)
	relay := l.start(t)
	born := l.moment()
	l.publish(t, relay, 20)
	stop(t, relay)
	ops := l.ops(t)
	calls := some(ops, behind(ops, born), 10, rand.New(rand.NewPCG(seed, 1)))
	disks := l.cuts(t, ops, calls, seed, func(t *testing.T, c cut) {
		for _, wrong := range holds(c.data(), l.books, c.moment) {
			t.Errorf("%v: %s", c, wrong)
		}
	})
	if disks < 20 || l.acknowledged() != 40 {
		t.Errorf("%d disks, %d events acknowledged: the test proves nothing", disks, l.acknowledged())
	}
	t.Logf("%d calls, %d disks", len(ops), disks)
	t.Run("syncs that do nothing", func(t *testing.T) { l.wantLoss(t, ops, born) })
}

// wantLoss has the same calls on a disk that forgets what it was told to keep: if
// that is not found, nothing is.
func (l *life) wantLoss(t *testing.T, ops []op, born int64) {
	first := behind(ops, born)
	var lies []op
	for i, o := range ops {
		switch {
		case o.kind == opBeside:
			continue // or the mark would tell, before anything is compared
		case i >= first && o.kind == opSyncEnd:
			o.kind = opSyncFailed
		}
		lies = append(lies, o)
	}
	var found atomic.Int64
	l.cuts(t, lies, []int{len(lies) - 1}, 1, func(_ *testing.T, c cut) {
		found.Add(int64(len(holds(c.data(), l.books, c.moment))))
	})
	if found.Load() == 0 {
		t.Error("a disk that keeps nothing has lost nothing")
	}
}

// TestPower_FoundLogIsWrittenBack: behind a log that a killed relay left nothing is
// written before all of it is durable in the database. Its last commits may be the
// kernel's alone, after a sync that failed, and whatever is acknowledged behind them
// would be lost with them.
func TestPower_FoundLogIsWrittenBack(t *testing.T) {
	l := newLife(t, 1, 1)
	relay := l.start(t)
	l.publish(t, relay, 5)
	l.kill(t, relay)
	killed := l.moment()
	relay = l.start(t)
	l.publish(t, relay, 5)
	stop(t, relay)
	synced := false
	for _, o := range l.ops(t) {
		switch {
		case o.end <= killed:
		case o.kind == opSyncEnd && strings.HasSuffix(o.path, ".db"):
			synced = true
		case o.kind == opWrite && strings.HasSuffix(o.path, "-wal"):
			if !synced {
				t.Error("the log goes on behind what was found, and that is not in the database yet")
			}
			return
		}
	}
	t.Error("nothing was written: the test proves nothing")
}
