package main

import (
	"context"
	"sync"

	"engramd/internal/agent/mcp"
	"engramd/internal/client"
	memorystate "engramd/internal/memory/state"
)

// serveMind has a server make plans, and finish those that this machine has begun;
// it does not wait for that. Call what it returns before the state is closed.
func (a *app) serveMind(ctx context.Context, m *client.Memory, state *memorystate.State, o *mcp.Options) (stop func()) {
	if o.Mind == nil || o.Copy == nil {
		return func() {}
	}
	p, err := a.plansOf(ctx, m, o.Copy, state)
	if err != nil {
		o.Log.Warn("no plans can be made", "error", err)
		return func() {}
	}
	p.Near = o.Near
	o.Mind.Plans = func(session string) mcp.Plans {
		own := *p
		own.Session = session
		return &own
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	settle, log := o.Settle, o.Log
	running.Go(func() {
		if settle != nil {
			settle(ctx) // until then relays may not be found
		}
		all, err := p.ResumeOpen(ctx)
		for _, r := range all {
			log.Info("a plan that had begun was finished", "plan", r.ID, "status", r.Status, "changes", len(r.Changes), "left", len(r.Left))
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("a plan that has begun cannot be finished now", "error", err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
