//go:build race

package memlimit

// raceDetector has memory of its own, several times that of the program.
const raceDetector = true
