package consolidation

import (
	"cmp"
	"fmt"
	"time"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

const (
	// DefaultEpisodes is how many episodes one plan shows, and DefaultBytes how
	// long its text is.
	DefaultEpisodes = 20
	DefaultBytes    = 32 << 10
	MinBytes        = 24 << 10
	MaxBytes        = 256 << 10

	// offers is how often an episode is shown in vain until it goes to the end of
	// the line.
	offers = 3
	// maxBeside is how many facts stand beside one episode, maxPairs how many
	// contradictions are shown, maxAside how many stale units, and how many orphans.
	maxBeside  = 3
	maxPairs   = 5
	maxAside   = 5
	staleAfter = 180 * 24 * time.Hour
	// alike is the least share of what is said that two texts have in common which
	// look alike, asked how many sections of an episode are looked for, and ranked
	// among how many facts.
	alike  = 0.25
	asked  = 4
	ranked = 8
)

var episodes = recall.Filter{Types: []frontmatter.Type{frontmatter.Episodic}}

// PrepareOptions say what a plan of consolidation may show.
type PrepareOptions struct {
	Now time.Time
	// Offered says how often a unit was shown and no operation named it: a unit
	// with three of them goes to the end of the line.
	Offered     map[string]int
	MaxEpisodes int // 0 is DefaultEpisodes, which is the most
	MaxBytes    int // of Plan.Text; 0 is DefaultBytes
	// Stale says which units are hardly used, so that they may be archived; nil
	// without counters: then age alone says it.
	Stale func(slug string) bool
}

// Prepare makes a plan of consolidation. The same memory and options give the same
// plan. The error says which option makes no sense.
func Prepare(v answer.View, o PrepareOptions) (Plan, error) {
	o.MaxEpisodes, o.MaxBytes = cmp.Or(o.MaxEpisodes, DefaultEpisodes), cmp.Or(o.MaxBytes, DefaultBytes)
	if o.MaxEpisodes < 1 || o.MaxEpisodes > DefaultEpisodes {
		return Plan{}, fmt.Errorf("a plan shows 1 to %d episodes, not %d", DefaultEpisodes, o.MaxEpisodes)
	}
	if o.MaxBytes < MinBytes || o.MaxBytes > MaxBytes {
		return Plan{}, fmt.Errorf("a plan has %d to %d bytes, not %d", MinBytes, MaxBytes, o.MaxBytes)
	}
	state, m := v.State(), scan(v)
	line := m.line(o.Offered)
	b := &batch{memory: m, now: o.Now, taken: map[string]int{}, left: o.MaxBytes - frame}
	b.narrative()
	b.contradictions(b.left / 8)
	b.episodes(line[:min(len(line), o.MaxEpisodes)], b.left*4/5)
	b.aside(m.outdated(o), Outdated)
	b.aside(m.stale(o), Stale)
	b.aside(m.orphans(o), Orphan)
	return Plan{
		Kind: Consolidate, Made: o.Now, Waiting: len(line), Units: b.inOrder(),
		AsOf: state.AsOf, Stale: state.Stale || state.Unfinished,
	}.Identify(), nil
}
