//go:build !race

package e2e

// raceEnabled says whether the tests run with the race detector.
const raceEnabled = false
