//go:build race

package plans

// Under the race detector each step takes ten times as long: it sees a few of the
// points at which a process is killed, and few rounds of two machines.
const (
	every  = 5
	rounds = 40
)
