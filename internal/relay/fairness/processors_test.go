package fairness_test

import (
	"runtime"
	"testing"

	"engramd/internal/relay/fairness"
)

// Threads in C get places of their own, however often that is said, and nothing
// else counts them as processors.
func TestBeside(t *testing.T) {
	before, processors := runtime.GOMAXPROCS(0), fairness.Processors()
	defer runtime.GOMAXPROCS(before)
	for range 2 {
		if fairness.Beside(3); runtime.GOMAXPROCS(0) != processors+3 || fairness.Processors() != processors {
			t.Errorf("%d places for %d processors", runtime.GOMAXPROCS(0), fairness.Processors())
		}
	}
}
