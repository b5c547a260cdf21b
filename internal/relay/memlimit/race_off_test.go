//go:build !race

package memlimit

const raceDetector = false
