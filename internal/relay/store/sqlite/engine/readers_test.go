package engine

import "testing"

// TestEveryStoreKeepsAReader: with any number of readers that the configuration
// takes, there is one that only look-ups get, and one for all else.
func TestEveryStoreKeepsAReader(t *testing.T) {
	for n := 2; n <= 256; n++ {
		if kept := keptTurns(n); kept < 1 || kept >= n {
			t.Errorf("of %d readers %d are kept for look-ups", n, kept)
		}
	}
}
