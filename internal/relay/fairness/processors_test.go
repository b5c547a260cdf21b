package share_test

import (
	"runtime"
	"testing"

	"engramd/internal/relay/fairness"
)

// Threads in C get places of their own, however often that is said, and nothing
// else counts them as processors.
func TestBeside(t *testing.T) {
	before, processors := runtime.GOMAXPROCS(0), share.Processors()
	defer runtime.GOMAXPROCS(before)
	for range 2 {
		if share.Beside(3); runtime.GOMAXPROCS(0) != processors+3 || share.Processors() != processors {
			t.Errorf("%d places for %d processors", runtime.GOMAXPROCS(0), share.Processors())
		}
	}
}
