package main

import (
	"context"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	memorystate "engramd/internal/memory/state"
)

// hookWake tells what a session begins with: see hook.Wake.
func (a *app) hookWake(ctx context.Context, h hook.Harness, in hook.Input) (string, error) {
	w, parts, err := a.wakeUp(ctx, h, in)
	if err != nil {
		return "", err
	}
	if in.Source == hook.Compact {
		parts.After = hook.Checkpoint()
	}
	told := briefing.Tell(parts)
	w.aside(ctx, func(ctx context.Context) { w.showed(ctx, told) })
	if attest, err := a.attests(w.m); err != nil {
		a.Note("%v", err)
	} else if attest && in.Source != hook.Compact { // it goes on
		a.later(func() { w.attest(parts.Start.From) })
	}
	return told.Text, nil
}

// begin notes the session in the state.
func (w *waking) begin(ctx context.Context) {
	if w.state = w.a.stateOf(ctx, w.m, w.a.NoteLine); w.state == nil {
		return
	}
	var err error
	if id := sessionName(w.in.Session); id != "" {
		err = w.state.Sessions.Begin(ctx, w.project.session(memorystate.Session{ID: id, Harness: string(w.h), Process: harnessAbove(w.a.ancestors())}),
			w.h.Alone(), w.in.Source == hook.Clear)
		if err == nil && (w.in.Source == hook.Compact || w.in.Source == hook.Clear) {
			err = w.state.Sessions.Forget(ctx, id)
		}
	}
	if err != nil {
		w.a.Note("what this machine knows of the session is not kept: %v", err)
	}
}

// know learns whether the folder is known. It waits for no writer, unlike begin.
func (w *waking) know(ctx context.Context) {
	if w.project.Name == "" {
		return
	}
	if w.unsure = w.state == nil; w.unsure {
		return
	}
	known, err := standingOf(ctx, w.state, w.in.Folder)
	if err != nil {
		w.unsure = true
		w.a.Note("whether the folder is the project's is not known: %v", err)
		return
	}
	if w.project = known; known.linked && known.before {
		// Whoever has the old name later does not change it. What is not kept now is
		// found out again.
		_ = w.state.Folders.Link(ctx, known.Clone, known.Name, known.Old)
	}
}

// showed notes what stands in the session's context.
func (w *waking) showed(ctx context.Context, told briefing.Told) {
	id := sessionName(w.in.Session)
	all := shownOf(append(w.core.shown(), told.Whole...))
	for _, i := range told.Due {
		all = append(all, memorystate.Shown{Slug: i.Slug, Hash: i.Key})
	}
	if w.state == nil || id == "" || len(all) == 0 {
		return
	}
	if _, err := w.state.Sessions.Show(ctx, id, string(w.h), all); err != nil {
		w.a.Note("what was shown is not kept: %v", err)
	}
}

// recovered ends a panic of a goroutine that nobody waits for in vain.
func recovered() { _ = recover() }
