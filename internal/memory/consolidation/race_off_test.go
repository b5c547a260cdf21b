//go:build !race

package consolidation

const raceEnabled = false
