package crash

import (
	"testing"

	"golang.org/x/sys/unix"
)

// monotonic reads the clock that the preloaded library reads, in nanoseconds.
func monotonic(t *testing.T) uint64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatalf("clock: %v", err)
	}
	return uint64(ts.Nano())
}
