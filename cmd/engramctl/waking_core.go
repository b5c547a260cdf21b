package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/client"
	"engramd/internal/memory/localcopy/follow"
	"engramd/nips/nipae"
)

// coreFound is the core as it was found: its text as of a time, if it was.
type coreFound struct {
	entry *client.Entry // nil: every relay says that there is none
	// kept says that it is the local copy's, as of a time.
	kept bool
	asOf time.Time
	// partial says that some relay did not answer.
	partial bool
}

func (f coreFound) section() hook.Section {
	switch {
	case f.entry == nil:
		return hook.NoCore(coreHint)
	case f.kept:
		return hook.Unconfirmed(f.entry.Text, f.asOf)
	case f.partial:
		return hook.Core(f.entry.Text, corePartial)
	}
	return hook.Core(f.entry.Text, "")
}

func (f coreFound) shown() []hook.Unit {
	if f.entry == nil {
		return nil
	}
	return []hook.Unit{{Slug: string(nipae.Core), Text: f.entry.Text}}
}

// ask asks the relays for the core and what is new.
func (w *waking) ask(ctx context.Context) error {
	asking, done := context.WithTimeout(ctx, w.a.Allow(wakeBudget-wakeBudget/10))
	defer done()
	if err := w.a.Discover(asking, w.c, w.m.Agent()); err != nil {
		w.a.Note("%v", err)
	}
	var both sync.WaitGroup
	defer both.Wait()
	if w.kept != nil {
		w.kept.found.Store(true)
		both.Go(func() {
			defer recovered()
			_, _ = w.kept.Follower.CatchUp(asking, follow.Ask{Grace: w.a.Allow(copyGrace)}) // what did not come is stale
		})
	}
	return w.getCore(asking)
}

// getCore reads the core as the relays have it.
func (w *waking) getCore(ctx context.Context) error {
	entry, status, err := w.m.Get(ctx, nipae.Core)
	absent := errors.Is(err, client.ErrNotFound)
	if absent {
		err = mayBegin(ctx, w.m)
	}
	if err := w.a.Report(status, err); err != nil {
		return err
	}
	if w.core = (coreFound{partial: status.Partial}); !absent {
		w.core.entry = &entry
	}
	return nil
}
