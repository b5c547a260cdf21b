//go:build race

package consolidation

const raceEnabled = true
