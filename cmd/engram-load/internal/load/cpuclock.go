package load

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU that a process of this machine took since it began:
// user and system, all threads, ended ones too. Its unit is a nanosecond, where
// /proc/PID/stat counts in ticks of 10 ms, too coarse for parts of a second.
func cpuTime(pid int) (time.Duration, error) {
	// The clock of a process: clock_getcpuclockid(3), CPUCLOCK_SCHED in Linux.
	const sched = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &ts); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}
