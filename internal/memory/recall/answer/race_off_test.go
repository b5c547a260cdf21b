//go:build !race

package recollect

const raceEnabled = false
