package rig

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Soak says whether the long variants run (make soak).
func Soak() bool { return os.Getenv("ENGRAMD_SOAK") == "1" }

// Seed is the time, or ENGRAMD_SEED to run a failure again.
func Seed(t *testing.T) uint64 {
	n := uint64(time.Now().UnixNano())
	if text := os.Getenv("ENGRAMD_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("ENGRAMD_SEED=%q: %v", text, err)
		}
	}
	t.Logf("seed %d (run again with ENGRAMD_SEED=%d)", n, n)
	return n
}
