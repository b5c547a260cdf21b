package bench

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what the figures hold for.
type Machine struct {
	CPU        string  `json:"cpu"`
	Cores      int     `json:"cores"`
	MemoryKiB  int64   `json:"memory_kib"`
	Kernel     string  `json:"kernel"`
	FileSystem string  `json:"file_system"` // of the servers' data
	SyncMicros float64 `json:"sync_us"`     // median of a 4 KiB write and its fdatasync there
	Go         string  `json:"go"`
}

// syncSamples is how many writes the median of Machine.SyncMicros is of.
const syncSamples = 101

// fileSystems names magic numbers of statfs(2).
var fileSystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.F2FS_SUPER_MAGIC: "f2fs",
}

// thisMachine looks at the machine; data lie under dir.
func thisMachine(dir string) (Machine, error) {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m, err
	}
	m.CPU = field(string(cpu), `model name\s*:\s*(.*)`)
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, err
	}
	m.MemoryKiB, _ = strconv.ParseInt(field(string(memory), `MemTotal:\s*(\d+)`), 10, 64)
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return m, err
	}
	m.Kernel, _, _ = strings.Cut(strings.TrimSpace(string(kernel)), "-")
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return m, err
	}
	if m.FileSystem = fileSystems[int64(fs.Type)]; m.FileSystem == "" {
		m.FileSystem = "0x" + strconv.FormatInt(int64(fs.Type), 16)
	}
	m.SyncMicros, err = syncTime(dir)
	return m, err
}

func field(text, pattern string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// syncTime returns the median time of a small durable write in dir, in
// microseconds.
func syncTime(dir string) (float64, error) {
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block, samples := make([]byte, 4096), make([]time.Duration, syncSamples)
	for i := range samples {
		start := time.Now()
		if _, err := f.WriteAt(block, int64(i)*int64(len(block))); err != nil {
			return 0, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
		samples[i] = time.Since(start)
	}
	slices.Sort(samples)
	return float64(samples[len(samples)/2]) / float64(time.Microsecond), nil
}

// absolute is path from the root, for command lines.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
