package load

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTicks is the unit of /proc/PID/stat, in ticks per second. It is part of
// Linux's ABI for user space on every architecture that Go supports.
const clockTicks = 100

// Usage is what the server's process took during the measured part.
type Usage struct {
	CPUUser   float64 `json:"cpu_user_s"`
	CPUSystem float64 `json:"cpu_sys_s"`
	CPUPerOp  float64 `json:"cpu_us_per_op"` // both, for one of Result.Count
	RSSBefore int64   `json:"rss_kib_before"`
	RSSAfter  int64   `json:"rss_kib_after"`
	// RSSPeak is since the run began; since the process began, where the kernel
	// does not let us reset it.
	RSSPeak int64 `json:"rss_kib_peak"`
}

// Sample is a process at one moment.
type Sample struct {
	User, System time.Duration // CPU since it began, in ticks of 10 ms
	CPU          time.Duration // both, exactly
	RSS, Peak    int64         // KiB
}

// Probe reads the process from /proc.
func Probe(pid int) (Sample, error) {
	s, err := probe("/proc", pid)
	if err == nil {
		s.CPU, err = cpuTime(pid)
	}
	return s, err
}

func probe(proc string, pid int) (Sample, error) {
	dir := filepath.Join(proc, strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Sample{}, fmt.Errorf("process %d: %w", pid, err)
	}
	// The name in parentheses may hold anything; the state follows the last one.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return Sample{}, fmt.Errorf("process %d: its stat has %d fields", pid, len(fields))
	}
	var s Sample
	for i, to := range []*time.Duration{&s.User, &s.System} { // utime, stime: fields 14 and 15 of proc(5)
		n, err := strconv.ParseInt(fields[11+i], 10, 64)
		if err != nil {
			return Sample{}, fmt.Errorf("process %d: its CPU time: %w", pid, err)
		}
		*to = time.Duration(n) * (time.Second / clockTicks)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Sample{}, fmt.Errorf("process %d: %w", pid, err)
	}
	s.RSS, s.Peak = statusKiB(string(status), "VmRSS:"), statusKiB(string(status), "VmHWM:")
	return s, nil
}

// statusKiB is one value of /proc/PID/status; 0 if there is none.
func statusKiB(status, name string) int64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n
		}
	}
	return 0
}

// resetPeak makes the kernel count the peak anew. It may not be allowed; then
// the peak is that of the whole life.
func resetPeak(pid int) {
	// #nosec: the path holds a number only
	_ = os.WriteFile(filepath.Join("/proc", strconv.Itoa(pid), "clear_refs"), []byte("5"), 0)
}

// usage returns what lies between two samples, for n operations.
func usage(before, after Sample, n int) *Usage {
	u := &Usage{
		CPUUser: (after.User - before.User).Seconds(), CPUSystem: (after.System - before.System).Seconds(),
		RSSBefore: before.RSS, RSSAfter: after.RSS, RSSPeak: after.Peak,
	}
	if n > 0 {
		u.CPUPerOp = micros(after.CPU-before.CPU) / float64(n)
	}
	return u
}

// ownCPU returns what this process took since it began.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
