package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"engramd/internal/agentstate"
	"engramd/internal/client"
	"engramd/internal/harness"
	"engramd/internal/hook"
	"engramd/internal/intend"
	"engramd/internal/mind"
	"engramd/internal/project"
	"engramd/internal/recollect"
	"engramd/internal/wake"
)

// wakeBudget is how long relays are asked at the start of a session.
const wakeBudget = 2 * time.Second

// besideBudget is how long the start of a session waits for what another process
// of this machine holds: the state or the copy. The core does not depend on them.
const besideBudget = 400 * time.Millisecond

// lookSpare is how long beyond wakeBudget the local copy is looked through: what
// was found until then is told.
const lookSpare = 200 * time.Millisecond

// waking is what the start of a session is told from.
type waking struct {
	a       *app
	h       hook.Harness
	in      hook.Input
	c       *client.Client
	m       *client.Memory
	kept    *localCopy // nil: none can be had
	state   *agentstate.State
	project project.Project
	linked  bool
	core    coreFound
}

// wakeUp finds what a session begins with: the core from the relays, which are
// asked for wakeBudget, or from the local copy where none answers; and the rest
// from that copy.
func (a *app) wakeUp(ctx context.Context, h hook.Harness, in hook.Input) (*waking, wake.Parts, error) {
	c, m, err := a.open(ctx)
	if err != nil {
		return nil, wake.Parts{}, err
	}
	a.later(c.Close)
	w := &waking{a: a, h: h, in: in, c: c, m: m}
	w.project, _ = project.Of(in.Folder) // none: nothing is told of one
	began := time.Now()
	local, stop := context.WithTimeout(ctx, wakeBudget)
	defer stop()
	w.aside(local, w.begin)
	w.aside(local, w.know)
	if w.state != nil {
		a.later(func() { _ = w.state.Close() })
	}
	w.aside(local, func(ctx context.Context) {
		if w.kept, err = a.openCopy(ctx, c, m, a.noteLine); err == nil {
			a.later(func() { _ = w.kept.Close() }) // what was kept is kept
		}
	})
	if err := w.ask(local); err != nil {
		return nil, wake.Parts{}, err
	}
	looking, enough := context.WithDeadline(ctx, began.Add(wakeBudget+lookSpare))
	defer enough()
	parts := wake.Parts{Measure: hook.MeasureOf(h), Core: w.core.section()}
	parts.Project, parts.Start = w.remembered(ctx, looking)
	if parts.Start.Waits() {
		parts.Ways = a.waysOf(h)
	}
	parts.Who = hook.Identity{Agent: npub(m.Agent()), Owner: npub(m.Owner())}
	if text := parts.Start.Narrative; text != "" {
		parts.Who.Hash = client.Hash(text)
	}
	return w, parts, nil
}

// aside does what the core does not depend on.
func (w *waking) aside(ctx context.Context, do func(context.Context)) {
	ctx, done := context.WithTimeout(ctx, besideBudget)
	defer done()
	do(ctx)
}

// remembered is what the local copy has of the project, and what else a session
// begins with, as far as it was found before enough ends.
func (w *waking) remembered(ctx, enough context.Context) (hook.Memory, wake.Start) {
	p := hook.Memory{Project: w.project.Name, Linked: w.linked}
	if w.kept == nil {
		return p, wake.Start{}
	}
	o := wake.Options{Now: time.Now(), Project: w.project.Name, Linked: w.linked}
	if w.state != nil {
		w.aside(enough, func(ctx context.Context) { // what is not known is none
			o.Uses, _ = usesIn(ctx, w.state)
			shown, _ := w.state.Shown(ctx, sessionName(w.in.Session))
			o.Seen = seenIn(shown)
			o.Dreamt = dreamtIn(ctx, w.state)
		})
	}
	var found hook.Memory
	var start wake.Start
	err := w.kept.source().Read(ctx, func(v recollect.View) error {
		found, start = p, wake.Start{}
		if p.Project != "" {
			found = memoryOf(v, p)
		}
		start = wake.Of(enough, v, o)
		return nil
	})
	if err != nil {
		w.a.note("what is remembered beside the core is not known: %v", err)
		return p, wake.Start{}
	}
	return found, start
}

// seenIn reports which intentions were shown in a session.
func seenIn(shown []agentstate.Shown) func(slug, key string) bool {
	keys := map[string][]string{}
	for _, s := range shown {
		keys[s.Slug] = append(keys[s.Slug], s.Hash)
	}
	return func(slug, key string) bool { return intend.Seen(keys[slug], key) }
}

// dreamtIn returns what dreams drew on this machine; nil where that is not known.
func dreamtIn(ctx context.Context, state *agentstate.State) map[string]mind.Dreamt {
	tallies, err := state.Tallies(ctx, agentstate.Dreamt)
	if err != nil {
		return nil
	}
	dreamt := make(map[string]mind.Dreamt, len(tallies))
	for slug, t := range tallies {
		dreamt[slug] = mind.Dreamt{Times: t.N, Last: t.Last}
	}
	return dreamt
}

// waysOf is how an agent answers to what waits: by tools where the MCP server that
// setup wrote into the settings of its harness has them, else by commands, which
// are always there.
func (a *app) waysOf(h hook.Harness) hook.Ways {
	known, err := harness.Named(string(h))
	return hook.WaysOf(err == nil && a.home() != "" && slices.Contains(strings.Split(known.Tools(harness.Disk{}, a.roots()), ","), "mind"))
}

// memoryOf fills a project's memory in from a view.
func memoryOf(v recollect.View, p hook.Memory) hook.Memory {
	p.Units, p.AsOf, p.Stale = nil, v.State().AsOf, v.State().Stale || v.State().Unfinished
	for _, head := range v.Under(hook.Prefix + p.Project) {
		if !hook.Own(head.Slug, p.Project) {
			continue
		}
		if text, ok := v.Text(head.Slug); ok {
			p.Units = append(p.Units, hook.Unit{Slug: head.Slug, Text: text, Updated: time.Unix(head.UpdatedAt, 0)})
		}
	}
	return p
}
