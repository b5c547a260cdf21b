package main

import (
	"context"
	"sync"
	"time"

	"engramd/internal/agentstate"
	"engramd/internal/client"
	"engramd/internal/hook"
	"engramd/internal/mirror/follow"
	"engramd/internal/project"
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
	began := time.Now()
	local, stop := context.WithTimeout(ctx, wakeBudget)
	defer stop()
	asking, done := context.WithTimeout(local, wakeBudget-wakeBudget/10)
	defer done()
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
	parts := wake.Parts{Measure: hook.MeasureOf(h), Ways: hook.WaysOf(false), Core: core}
	looking, enough := context.WithDeadline(ctx, began.Add(wakeBudget+lookSpare))
	defer enough()
	parts.Project, parts.Start = w.remembered(ctx, looking)
	if in.Source == hook.Compact {
		parts.After = hook.Checkpoint()
	}
	text, whole := wake.Text(parts)
	w.aside(ctx, func(ctx context.Context) { w.showed(ctx, append(seen, whole...)) })
	return text, nil
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

// know learns whether the folder is known. It waits for no writer, unlike begin.
func (w *waking) know(ctx context.Context) {
	if w.state == nil || w.project.Name == "" {
		return
	}
	var err error
	if w.linked, err = w.state.Linked(ctx, w.project.Folder, w.project.Name); err != nil {
		w.a.note("whether the folder is the project's is not known: %v", err)
	}
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
