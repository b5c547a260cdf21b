//go:build !engramd_faults

package daemon

import (
	"time"

	"engramd/internal/relay/cluster"
)

// clusterFaults are none: only a program that was built to be broken, for the
// tests of the tests, reads any.
func clusterFaults([]string) cluster.Faults { return cluster.Faults{} }

// machineClock is the machine's clock.
func machineClock([]string) func() time.Time { return time.Now }

// bansAtOrigin is a fault too.
func bansAtOrigin([]string) bool { return false }

// Step is where a recovery can be killed.
func Step([]string, string) {}
