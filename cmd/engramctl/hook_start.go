package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"engramd/internal/agentstate"
	"engramd/internal/client"
	"engramd/internal/hook"
	"engramd/internal/mirror/follow"
	"engramd/internal/project"
	"engramd/internal/recollect"
	"engramd/nips/nipae"
)

// wakeBudget is how long relays are asked at the start of a session.
const wakeBudget = 2 * time.Second

// besideBudget is how long the start of a session waits for what another process
// of this machine holds: the state or the copy. The core does not depend on them.
const besideBudget = 400 * time.Millisecond

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
}

// hookWake tells what a session begins with: see hook.Wake.
func (a *app) hookWake(ctx context.Context, h hook.Harness, in hook.Input) (string, error) {
	c, m, err := a.open(ctx)
	if err != nil {
		return "", err
	}
	a.later(c.Close)
	w := &waking{a: a, h: h, in: in, c: c, m: m}
	w.project, _ = project.Of(in.Folder) // none: nothing is told of one
	local, stop := context.WithTimeout(ctx, wakeBudget)
	defer stop()
	asking, done := context.WithTimeout(local, wakeBudget-wakeBudget/10)
	defer done()
	w.aside(local, w.begin)
	w.aside(local, w.look)
	if w.state != nil {
		a.later(func() { _ = w.state.Close() })
	}
	w.aside(local, func(ctx context.Context) {
		if w.kept, err = a.openCopy(ctx, c, m, a.noteLine); err == nil {
			a.later(func() { _ = w.kept.Close() }) // what was kept is kept
		}
	})
	if err := a.discover(asking, c, m.Agent()); err != nil {
		a.note("%v", err)
	}
	var both sync.WaitGroup
	if w.kept != nil {
		w.kept.found.Store(true)
		both.Go(func() {
			defer recovered()
			_, _ = w.kept.Follower.CatchUp(asking, follow.Ask{Grace: copyGrace}) // what did not come is stale
		})
	}
	core, seen, err := w.core(asking)
	both.Wait()
	if err != nil {
		if core, seen, err = w.unconfirmed(local, err); err != nil {
			return "", err
		}
	}
	sections := []hook.Section{core}
	memory, whole := hook.Project(hook.MeasureOf(h), w.memory(local))
	sections = append(sections, memory)
	if in.Source == hook.Compact {
		sections = append(sections, hook.Checkpoint())
	}
	w.aside(ctx, func(ctx context.Context) { w.showed(ctx, append(seen, whole...)) })
	return hook.Wake(hook.MeasureOf(h), sections...), nil
}

// aside does what the core does not depend on.
func (w *waking) aside(ctx context.Context, do func(context.Context)) {
	ctx, done := context.WithTimeout(ctx, besideBudget)
	defer done()
	do(ctx)
}

// begin notes the session in the state.
func (w *waking) begin(ctx context.Context) {
	if w.state = w.a.stateOf(ctx, w.m, w.a.noteLine); w.state == nil {
		return
	}
	var err error
	if id := sessionName(w.in.Session); id != "" {
		err = w.state.Begin(ctx, agentstate.Session{ID: id, Harness: string(w.h), Process: harnessAbove(w.a.ancestors()), Folder: w.project.Folder, Project: w.project.Name},
			w.h.Alone(), w.in.Source == hook.Clear)
		if err == nil && (w.in.Source == hook.Compact || w.in.Source == hook.Clear) {
			err = w.state.Forget(ctx, id)
		}
	}
	if err != nil {
		w.a.note("what this machine knows of the session is not kept: %v", err)
	}
}

// look learns whether the folder is known. It waits for no writer, unlike begin.
func (w *waking) look(ctx context.Context) {
	if w.state == nil || w.project.Name == "" {
		return
	}
	var err error
	if w.linked, err = w.state.Linked(ctx, w.project.Folder, w.project.Name); err != nil {
		w.a.note("whether the folder is the project's is not known: %v", err)
	}
}

// core is the section with the core as the relays have it, and what was shown.
func (w *waking) core(ctx context.Context) (hook.Section, []hook.Unit, error) {
	entry, status, err := w.m.Get(ctx, nipae.Core)
	absent := errors.Is(err, client.ErrNotFound)
	if absent {
		err = mayBegin(ctx, w.m)
	}
	if err := w.a.report(status, err); err != nil {
		return hook.Section{}, nil, err
	}
	if absent {
		return hook.Core(coreHint, ""), nil, nil
	}
	partial := ""
	if status.Partial {
		partial = corePartial
	}
	return hook.Core(entry.Text, partial), []hook.Unit{{Slug: string(nipae.Core), Text: entry.Text}}, nil
}

// unconfirmed is the section with the core of the local copy, where the relays
// did not give one; failed if they said something of it, or there is none here.
func (w *waking) unconfirmed(ctx context.Context, failed error) (section hook.Section, seen []hook.Unit, err error) {
	if code := codeOf(failed); w.kept == nil || code != exitRelay && code != exitAuth {
		return section, nil, failed
	}
	err = failed
	reading := w.kept.source().Read(ctx, func(v recollect.View) error {
		if text, ok := v.Text(string(nipae.Core)); ok {
			section, err = hook.Unconfirmed(text, v.State().AsOf), nil
			seen = []hook.Unit{{Slug: string(nipae.Core), Text: text}}
		}
		return nil
	})
	if reading != nil {
		return section, nil, failed
	}
	return section, seen, err
}

// memory is what the local copy has of the project.
func (w *waking) memory(ctx context.Context) hook.Memory {
	p := hook.Memory{Project: w.project.Name, Linked: w.linked}
	if w.kept == nil || p.Project == "" {
		return p
	}
	if err := w.kept.source().Read(ctx, func(v recollect.View) error { p = memoryOf(v, p); return nil }); err != nil {
		w.a.note("what is remembered of the project is not known: %v", err)
	}
	return p
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

// showed notes what stands in the session's context.
func (w *waking) showed(ctx context.Context, units []hook.Unit) {
	id := sessionName(w.in.Session)
	if w.state == nil || id == "" || len(units) == 0 {
		return
	}
	if _, err := w.state.Show(ctx, id, string(w.h), shownOf(units)); err != nil {
		w.a.note("what was shown is not kept: %v", err)
	}
}

// recovered ends a panic of a goroutine that nobody waits for in vain.
func recovered() { _ = recover() }
