package daemon

// setPart has this process use one of n parts of every budget that clients have:
// of so many live nodes together they use no more than of one. It may be called
// again at any time; bounds of what a process holds, such as connections, are
// each node's own.
func (c *process) setPart(nodes int) {
	c.policy.SetPart(nodes)
	c.guesses.SetPart(nodes)
	c.used.SetPart(nodes)
	c.changed.SetPart(nodes)
	c.contracts.SetPart(nodes)
}
