//go:build nightly

package main

import (
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// within requires that a command ends as expected and in time, in one of three
// attempts, because the machine may be busy.
func within(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	if args[1] != "ctl" {
		ts.Fatalf("within: %s", args[1])
	}
	for attempt := 1; ; attempt++ {
		start := time.Now()
		runCtl(ts, neg, args[2:])
		took := time.Since(start)
		if took <= limit {
			return
		}
		if attempt == 3 {
			ts.Fatalf("it took %v", took)
		}
	}
}

// scaled runs a command that must end soon after its time limit, which replaces
// LIMIT in its arguments, and repeats it with three times the limit while it
// ends otherwise: scripts share their machine, and a relay may have had no time
// to answer. What fails at every limit is a fault. LIMIT in the environment is
// the limit that was kept.
func scaled(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	if neg || args[1] != "ctl" {
		ts.Fatalf("usage: scaled DURATION ctl …")
	}
	for attempt := 1; ; attempt++ {
		ts.Setenv("LIMIT", limit.String())
		now := slices.Clone(args[2:])
		for i := range now {
			if now[i] == "LIMIT" {
				now[i] = limit.String()
			}
		}
		start := time.Now()
		r := ctlOnce(ts, now)
		took := time.Since(start)
		if r.code == r.want && took <= limit*3/2 {
			return
		}
		if attempt == 4 {
			ts.Fatalf("it took %v of %v: %s", took, limit, r)
		}
		limit *= 3
	}
}

// TestScriptsWithAClock runs the scripts in testdata/nightly. They have two
// commands more:
//
//	within DURATION ctl …  fail if it takes longer; see within
//	scaled DURATION ctl …  LIMIT among the arguments stands for that time limit; see scaled
func TestScriptsWithAClock(t *testing.T) {
	runScripts(t, "testdata/nightly", map[string]func(*testscript.TestScript, bool, []string){"within": within, "scaled": scaled})
}
