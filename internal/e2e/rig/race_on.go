//go:build race

package rig

// RaceEnabled says whether the tests run with the race detector; the relays of
// tests that watch for races then do too.
const RaceEnabled = true
