//go:build race

package mind

const raceEnabled = true
