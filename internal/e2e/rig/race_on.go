//go:build race

package rig

// RaceEnabled says whether the tests run with the race detector; children then
// do too, unless a test asks for the plain binary because it measures.
const RaceEnabled = true
