//go:build engramd_faults

package daemon

import (
	"os"
	"strings"
	"syscall"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/daemon/wiring"
)

// clusterFaults are what ENGRAM_FAULT names: one fault, by which this node breaks
// a promise, so that the tests which must notice are seen to.
func clusterFaults(env []string) (f cluster.Faults) {
	name, _ := wiring.Lookup(env)("ENGRAM_FAULT")
	switch name {
	case "ok-before-append":
		f.OKBeforeAppend = true
	case "no-wait":
		f.NoWaitForReads = true
	case "skip":
		f.SkipACommand = true
	case "own-time":
		f.OwnTime = true
	case "end-from-log":
		f.EndFromLog = true
	case "counters":
		f.IgnoreCounters = true
	case "strike-soon":
		f.StrikeSoon = true
	case "refuse-soon":
		f.RefuseSoon = true
	case "epochs":
		f.IgnoreEpochs = true
	}
	return f
}

// machineClock is the machine's clock, wrong by as much as ENGRAM_CLOCK says, or
// the file that it names after an @ at the moment.
func machineClock(env []string) func() time.Time {
	text, _ := wiring.Lookup(env)("ENGRAM_CLOCK")
	if path, ok := strings.CutPrefix(text, "@"); ok {
		return func() time.Time {
			now, _ := os.ReadFile(path)
			wrong, _ := time.ParseDuration(strings.TrimSpace(string(now)))
			return time.Now().Add(wrong)
		}
	}
	wrong, err := time.ParseDuration(text)
	if err != nil {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(wrong) }
}

// bansAtOrigin reports whether lists are asked by the node that takes an event
// only, and not where it is executed.
func bansAtOrigin(env []string) bool {
	name, _ := wiring.Lookup(env)("ENGRAM_FAULT")
	return name == "bans-at-origin"
}

// Step kills this process if ENGRAM_FAULT names where it is.
func Step(env []string, name string) {
	if fault, _ := wiring.Lookup(env)("ENGRAM_FAULT"); fault == "recover-"+name {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}
