//go:build race

package localcopy

const raceEnabled = true
