//go:build nightly && linux

package events_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestVersionsInLinearTime writes four times as many versions of one address in about
// four times the time of a processor.
func TestVersionsInLinearTime(t *testing.T) {
	seconds := func(n int64) float64 {
		s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = 1_000_000 })
		before := processor(t)
		var last store.Pending
		for i := range n {
			p, err := s.Begin(t.Context(), alice.Engram(bob, i, "mem/a"), store.PutOptions{Import: true})
			if err != nil {
				t.Fatal(err)
			}
			last = p
		}
		last.Wait()
		return (processor(t) - before).Seconds()
	}
	few, many := seconds(1500), seconds(6000)
	t.Logf("1,500 versions in %.2f s, 6,000 in %.2f s", few, many)
	if many > 6*few {
		t.Errorf("four times as many take %.1f times as long", many/few)
	}
}

// processor is the processor time of this process.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
