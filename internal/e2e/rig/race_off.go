//go:build !race

package rig

// RaceEnabled says whether the tests run with the race detector.
const RaceEnabled = false
