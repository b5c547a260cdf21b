package power

import (
	"math/rand/v2"
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
