package consolidation

const (
	// NarrativeSlug is where the agent's story of itself stands. There is one: its
	// versions are its history. It comes into every session unasked, so nothing of
	// somebody else's may get into it: neither by its sources nor by its words nor by
	// what it was before.
	NarrativeSlug = "mem/narrative"
	// MaxNarrative is how long it is, in characters.
	MaxNarrative = 1500
)
