package wake

import (
	"slices"

	"engramd/internal/hook"
)

// Parts are what a session is told, in the order of their weight, and how its
// agent counts and answers.
type Parts struct {
	Measure hook.Measure
	Ways    hook.Ways
	Core    hook.Section
	Project hook.Memory
	Start   Start
	Who     hook.Identity
	// After is told once what waits was: a request.
	After hook.Section
}

// Text puts a beginning together, within hook.MostText. It also returns what
// stands there whole, beside the core.
func Text(p Parts) (string, []hook.Unit) {
	m := p.Measure
	narrative := hook.Narrative(m, p.Start.Narrative, p.Start.Copy)
	project, whole := hook.Project(m, p.Project)
	sections := []hook.Section{p.Core, narrative, project, p.Start.Counts.Section(p.Ways), p.After, p.Who.Section()}
	// An episode of the project may stand there already.
	rest := slices.DeleteFunc(slices.Clone(p.Start.Episodes), func(e hook.Episode) bool {
		return slices.ContainsFunc(whole, func(u hook.Unit) bool { return u.Slug == e.Slug })
	})
	replay, replayed := hook.Replay(m, rest, p.Start.Copy, hook.Left(m, sections...))
	if narrative.Text != "" && m(narrative.Text) <= narrative.Budget {
		whole = append(whole, hook.Unit{Slug: hook.NarrativeSlug, Text: p.Start.Narrative})
	}
	return hook.Wake(m, append(sections, replay)...), append(whole, replayed...)
}
