package session

import (
	"context"
	"time"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	"engramd/internal/client"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/nipae"
)

// lookedUp is what the local copy has for the start of a session.
type lookedUp struct {
	read    bool
	any     bool // there is something
	core    Core
	project hook.Memory
	start   briefing.Start
}

// whole reports whether all of the copy was looked through.
func (f lookedUp) whole() bool { return f.read && !f.start.Counts.AtLeast }

// find asks the relays, and looks the local copy through once they have answered.
// The core is theirs, or the copy's where they did not give one. What was found
// when enough ends is what is told.
func (w *Brief) find(ctx, local, enough context.Context) (lookedUp, error) {
	answered, early := make(chan struct{}), make(chan lookedUp, 1)
	go func() {
		var found lookedUp
		defer func() { early <- found }()
		defer recovered()
		select {
		case <-answered:
		case <-time.After(lookAfter):
			found = w.lookThrough(ctx, enough)
		}
	}()
	failed := w.ask(local)
	close(answered)
	var before lookedUp
	select {
	case before = <-early:
	case <-ctx.Done():
		return before, ctx.Err()
	}
	found := before
	if failed == nil || !before.read { // where no relay answered, nothing is new
		if found = w.lookThrough(ctx, enough); !found.whole() && before.read {
			found = before
		}
	}
	if failed == nil {
		return found, nil
	}
	switch {
	case !w.b.Unreached(failed):
		return found, failed // they said something of it
	case found.core.Entry != nil:
		w.Core = found.core
	case w.Core.Entry == nil:
		return found, failed // there is none here
	}
	return found, nil
}

// lookThrough reads what the local copy has.
func (w *Brief) lookThrough(ctx, enough context.Context) lookedUp {
	p := w.Project.Memory(w.unsure)
	nothing := lookedUp{project: p}
	if w.kept == nil {
		return nothing
	}
	var found lookedUp
	err := w.kept.Source().Read(ctx, func(v answer.View) error {
		found = lookedUp{read: true, project: p, any: len(v.Heads()) > 0}
		if text, ok := v.Text(string(nipae.Core)); ok {
			head, _ := v.Head(string(nipae.Core))
			found.core = Core{Entry: &client.Entry{Slug: nipae.Core, Text: text, Size: len(text), CreatedAt: head.UpdatedAt, Hash: client.Hash(text)}, Kept: true, Unsent: head.Unsent, AsOf: v.State().AsOf}
		}
		if p.Project != "" {
			found.project = briefing.Project(v, p)
		}
		found.start = briefing.Of(enough, v, w.look)
		return nil
	})
	if err != nil {
		w.s.note("what the local copy has is not known: %v", err)
		return nothing
	}
	return found
}
