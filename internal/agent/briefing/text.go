package briefing

import (
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/project"
	"engramd/internal/memory/recall/answer"
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
	Who    hook.Identity // the zero one is not told
	// Beside warns of what the folder brings.
	Beside hook.Section
	// Took says what was taken over of the owner's unasked.
	Took hook.Section
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
	if p.Who.Agent != "" {
		p.Who.From = p.Start.From
	}
	sections := []hook.Section{p.Core, hook.Words(hook.WordLine(core, p.Start.Words[core])), p.Took, p.Beside, unread, met(p.Start.Apart), narrative, hook.Words(hook.WordLine(hook.NarrativeSlug, p.Start.Words[hook.NarrativeSlug])), hook.Rests(p.Start.Rests, c), project, hook.Due(lines, more, c, p.Ways), p.Start.Counts.Section(p.Ways), p.After, p.Who.Section()}
	// An episode of the project may stand there already.
	rest := slices.DeleteFunc(slices.Clone(p.Start.Episodes), func(e hook.Episode) bool {
		return slices.ContainsFunc(whole, func(u hook.Unit) bool { return u.Slug == e.Slug })
	})
	replay, replayed := hook.Replay(m, rest, c, hook.Left(m, sections...))
	if narrative.Text != "" && m(narrative.Text) <= narrative.Budget {
		whole = append(whole, hook.Unit{Slug: hook.NarrativeSlug, Text: p.Start.Narrative, Says: p.Start.Words[hook.NarrativeSlug]})
	}
	return Told{hook.Wake(m, append(sections, replay)...), append(whole, replayed...), due}
}

// Heads are what a memory has of projects by their names; "" is none.
func Heads(v answer.View, names ...string) (all []answer.Head) {
	for _, name := range names {
		for _, head := range v.Under(project.Prefix + name) {
			if project.Own(head.Slug, name) {
				all = append(all, head)
			}
		}
	}
	return all
}

// Project fills a project's memory in from a view.
func Project(v answer.View, p hook.Memory) hook.Memory {
	p.Units, p.AsOf, p.Stale = nil, v.State().AsOf, v.State().Stale || v.State().Unfinished
	for _, head := range Heads(v, p.Project, p.Old) {
		says := answer.WordsOf(v)[head.Slug]
		if v.Index().Truth().Stale(head.Slug) || says.Withholds() {
			continue
		}
		if text, ok := v.Text(head.Slug); ok {
			p.Units = append(p.Units, hook.Unit{Slug: head.Slug, Text: text, Updated: time.Unix(head.UpdatedAt, 0), Note: note(v, head.Slug), Says: says})
		}
	}
	if len(Heads(v, p.Shared)) == 0 {
		p.Shared = ""
	}
	return p
}

// note says how a memory stands, "" for nothing.
func note(v answer.View, slug string) string {
	standing := v.Index().Truth().Of(slug)
	standing.Corrected = answer.WordsOf(v)[slug].Text != ""
	return strings.Join(standing.Notes(), "; ")
}
