//go:build nightly && unix

package localcopy

import (
	"os"
	"testing"
	"time"
)

// TestTargets measures the local copy: 500 memories, and with ENGRAMD_SOAK=1
// 10,000 and 100,000; docs/benchmarks/MIRROR.md has the figures.
func TestTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures the processor's time, which the race detector takes")
	}
	soak := os.Getenv("ENGRAMD_SOAK") == "1"
	n := 500
	if soak {
		n = 10_000
	}
	f := measure(t, n)
	t.Logf("%d memories: %v", n, f)
	if f.size > 4*f.text {
		t.Errorf("the files are %.2f times the text", float64(f.size)/float64(f.text))
	}
	if f.cold*3 > f.rebuild {
		t.Errorf("a kept index saves little: %v to open and recall with it, %v without", f.cold, f.rebuild)
	}
	if !soak {
		return
	}
	if f.build > 10*time.Second || f.cold > 100*time.Millisecond || f.p95 > 10*time.Millisecond {
		t.Errorf("%d memories: %v", n, f)
	}
	f = measure(t, 100_000)
	t.Logf("100000 memories: %v", f)
	if f.p95 > 50*time.Millisecond || f.size > 4*f.text {
		t.Errorf("100000 memories: %v", f)
	}
}
