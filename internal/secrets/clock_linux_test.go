package secrets

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// took returns the processor time that looking through a text takes. By the
// clock on the wall, the longer text waits more often for a processor that
// others use too: 45 times as long was seen, of a tenfold text.
func took(text string) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Timespec
	first := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &before)
	Find(text)
	second := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &after)
	if first != nil || second != nil {
		panic("no processor time of a thread")
	}
	return time.Duration(after.Nano() - before.Nano())
}
