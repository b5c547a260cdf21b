package main

import (
	"context"
	"sync"

	"engramd/internal/agent/mcp"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/recall/answer"
)

// acceptedAtStart is how many of the owner's proposals a server accepts at its
// start, where the profile says so.
const acceptedAtStart = 20

// serveProposals has a server show what others propose, and accept the owner's at
// its start if the profile says so; it does not wait for that. Call what it returns
// in the end.
func (a *app) serveProposals(ctx context.Context, c *client.Client, m *client.Memory, o *mcp.Options) (stop func(), err error) {
	if !m.Writable() {
		return func() {}, nil
	}
	s, err := a.Settings()
	if err != nil {
		return nil, err
	}
	source := o.Copy
	box, err := proposals.NewBox(proposals.Options{Client: c, Memory: m, Listed: s.Proposals.Listed, Open: opening,
		Near: func(ctx context.Context, slug, text string) (all []proposals.Near) {
			ctx, cancel := context.WithTimeout(ctx, a.Allow(compareTime))
			defer cancel()
			_ = source.Read(ctx, func(v answer.View) error { // where it cannot be read, none are known
				all = nearIn(ctx, v, slug, text)
				return nil
			})
			return all
		}})
	if err != nil {
		return nil, exit.BadUsage(err)
	}
	o.Proposals = box
	if !s.Proposals.Accept {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	settle, log := o.Settle, o.Log
	running.Go(func() {
		if settle != nil {
			settle(ctx) // until then relays may not be found
		}
		ctx, done := context.WithTimeout(ctx, callFactor*a.Flags.Timeout)
		defer done()
		accepted, left, err := box.AcceptOwners(ctx, acceptedAtStart, proposals.AcceptOptions{})
		if len(accepted)+len(left) > 0 {
			log.Info("proposals of the owner", "accepted", len(accepted), "left", len(left))
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("what the owner proposes is not known", "error", err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}, nil
}
