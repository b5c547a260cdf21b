package identities

// SetMaxAgents changes how many identities there may be, until the end of a
// test.
func SetMaxAgents(t interface{ Cleanup(func()) }, most int64) {
	was := maxAgents
	maxAgents = most
	t.Cleanup(func() { maxAgents = was })
}
