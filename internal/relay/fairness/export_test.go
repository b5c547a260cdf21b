package fairness

// Remembered is how many shares, parts and connections are known.
func (t *Turns) Remembered() int { return len(t.tree.nodes) }
