package memory

// Later lets a write wait on this machine while no relay answers, and says how its
// text is made of the one that is there, so that it can be made again of a newer one. A
// Memory never waits: internal/agent/session has it do so.
type Later struct {
	// Append was added at the end, or New put in the place of Old, which stood in the
	// body once. Without both the text is a whole one.
	Append, Old, New string
	// Silent says that no relay has answered the reading before.
	Silent bool
}
