package mind

// checkDream judges what only a dream's operations must keep: they write insights,
// inspired by units that were drawn, that say something new.
func checkDream(p Plan, ops []Op, text Texts, o CheckOptions) error {
	for i, op := range ops {
		if op.Op != OpWrite {
			return &OpError{Index: i, Op: op.Op, Reason: "a dream only writes insights and the narrative"}
		}
	}
	return nil
}
