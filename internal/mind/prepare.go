package mind

import (
	"time"

	"engramd/internal/recollect"
	"engramd/nips/unit"
)

const (
	// DefaultEpisodes is how many episodes one plan shows, and DefaultBytes how
	// long its text is.
	DefaultEpisodes = 20
	DefaultBytes    = 32 << 10
)

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
// plan.
func Prepare(v recollect.View, o PrepareOptions) (Plan, error) {
	state := v.State()
	p := Plan{Kind: Consolidate, Made: o.Now, AsOf: state.AsOf, Stale: state.Stale || state.Unfinished}
	for _, h := range v.Heads() {
		if text, ok := v.Text(h.Slug); ok && waits(h.Slug, unit.Parse(text)) {
			p.Waiting++
			p.Units = append(p.Units, Shown{Slug: h.Slug, Hash: Hash(text), Role: Episode})
		}
	}
	p.Units = p.Units[:min(len(p.Units), DefaultEpisodes)]
	return p.Identify(), nil
}

// waits reports whether a text is an episode that is to be consolidated.
func waits(slug string, d unit.Doc) bool {
	f := d.Fields()
	return !recollect.Reserved(slug) && slug != "core" && f.Type == unit.Episodic && f.State == unit.Active && f.Consolidated.IsZero()
}

// Waiting counts the episodes that are to be consolidated.
func Waiting(v recollect.View) int {
	n := 0
	for _, h := range v.Heads() {
		if text, ok := v.Text(h.Slug); ok && waits(h.Slug, unit.Parse(text)) {
			n++
		}
	}
	return n
}
