// Package processes finds the processes above this one.
package processes

// most is how far up processes are looked at: a shell or two, what starts
// packages, and the harness.
const most = 8

// Process is one of this machine.
type Process struct {
	ID   string // good for as long as it runs: its number and when it began
	Name string // of its program
}
