package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// memory is what a process has resident, in KiB.
type memory struct {
	rss       int64
	anonymous int64 // of that what is in no file: heap, stacks
}

// memoryOf reads it from /proc.
func memoryOf(pid int) (memory, error) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return memory{}, fmt.Errorf("process %d: %w", pid, err)
	}
	m := memory{rss: statusKiB(string(status), "VmRSS:"), anonymous: statusKiB(string(status), "RssAnon:")}
	if m.rss == 0 {
		return memory{}, fmt.Errorf("process %d: it has no memory: it has ended", pid)
	}
	return m, nil
}

// near reports whether two looks differ by less than settleShare.
func (m memory) near(other memory) bool {
	d := m.rss - other.rss
	return float64(max(d, -d)) < settleShare*float64(other.rss)
}
