//go:build !race

package writerlog

const raceEnabled = false
