package briefing

import (
	"slices"

	"engramd/internal/agent/hook"
	"engramd/internal/memory/intentions"
)

// Parts are what a session is told, in the order of their weight, and how its
// agent counts and answers.
type Parts struct {
	Measure hook.Measure
	Ways    hook.Ways
	Core    hook.Section
	Project hook.Memory
	Start   Start
	// Unread says that Start could not be read: it is not empty.
	Unread bool
	Who    hook.Identity
	// After is told once what waits was: a request.
	After hook.Section
}

// Told is a beginning, and what of it a session need not be told again: the texts
// that stand there whole, beside the core, and the intentions.
type Told struct {
	Text  string
	Whole []hook.Unit
	Due   []intentions.Item
}

// Tell puts a beginning together, within hook.MostText.
func Tell(p Parts) (t Told) {
	m, c := p.Measure, p.Start.Copy
	narrative := hook.Narrative(m, p.Start.Narrative, c)
	project, whole := hook.Project(m, p.Project)
	lines, due, more := intentions.Lines(p.Start.Due, hook.DueRoom(m, c, p.Ways))
	unread := hook.Section{}
	if p.Unread {
		unread = hook.Unread()
	}
	p.Who.From = p.Start.From
	sections := []hook.Section{p.Core, unread, narrative, hook.Rests(p.Start.Rests, c), project, hook.Due(lines, more, c, p.Ways), p.Start.Counts.Section(p.Ways), p.After, p.Who.Section()}
	// An episode of the project may stand there already.
	rest := slices.DeleteFunc(slices.Clone(p.Start.Episodes), func(e hook.Episode) bool {
		return slices.ContainsFunc(whole, func(u hook.Unit) bool { return u.Slug == e.Slug })
	})
	replay, replayed := hook.Replay(m, rest, c, hook.Left(m, sections...))
	if narrative.Text != "" && m(narrative.Text) <= narrative.Budget {
		whole = append(whole, hook.Unit{Slug: hook.NarrativeSlug, Text: p.Start.Narrative})
	}
	return Told{hook.Wake(m, append(sections, replay)...), append(whole, replayed...), due}
}
