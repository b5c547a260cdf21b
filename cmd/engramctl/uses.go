package main

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"engramd/internal/agent/mcp"
	"engramd/internal/client"
	"engramd/internal/memory/activity"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

// tellUses tells relays, where something is written anyhow and at most once a
// day, how often memories were used on this machine. What fails is told with the
// next day's.
func (a *app) tellUses(ctx context.Context, m *client.Memory, state *memorystate.State) error {
	all, unflushed, err := state.Counters.All(ctx)
	if err != nil || unflushed == 0 {
		return err
	}
	due, err := state.Counters.Flushing(ctx)
	if err != nil || !due {
		return err
	}
	writer, err := state.Writer(ctx)
	if err != nil {
		return err
	}
	slug := nipae.Slug(activity.UsagePrefix + hex.EncodeToString(writer[:]))
	if _, _, err := m.Set(ctx, slug, activity.EncodeUsage(countedUses(all)), client.SetOptions{}); err != nil {
		return err
	}
	return state.Counters.Flushed(ctx, all)
}

// tellUsesBeside is tellUses for a command that has written: it does not fail.
func (a *app) tellUsesBeside(ctx context.Context, m *client.Memory) {
	state := a.stateOf(ctx, m, a.NoteLine)
	if state == nil {
		return
	}
	defer state.Close()
	if err := a.tellUses(ctx, m, state); err != nil {
		a.Note("other machines are not told yet how often memories were used: %v", err)
	}
}

// serveUses has a server tell uses where something is written, beside the answer.
// Call what it returns before the state is closed.
func (a *app) serveUses(ctx context.Context, m *client.Memory, state *memorystate.State, o *mcp.Options) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	wrote, log := o.Wrote, o.Log
	busy := make(chan struct{}, 1)
	o.Wrote = func(call context.Context, slugs []string) {
		wrote(call, slugs)
		select {
		case busy <- struct{}{}:
		default:
			return // it is being done
		}
		running.Go(func() {
			defer func() { <-busy }()
			if err := a.tellUses(ctx, m, state); err != nil && ctx.Err() == nil {
				log.Warn("other machines are not told yet how often memories were used", "error", err)
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

func countedUses(all []memorystate.Counter) map[string]activity.Use {
	uses := make(map[string]activity.Use, len(all))
	for _, c := range all {
		uses[c.Slug] = activity.Use{N: c.Recalled + c.Read, Last: c.Last}
	}
	return uses
}

// usedBy is what this machine knows of uses and judgements, before it looks at a
// memory.
type usedBy struct {
	writer string
	own    map[string]activity.Use
	judged map[string]activity.Feedback
	earned int
}

// usedHere reads it from the state; of no state nothing is known.
func usedHere(ctx context.Context, state *memorystate.State) (u usedBy, err error) {
	if state == nil {
		return u, nil
	}
	writer, err := state.Writer(ctx)
	if err != nil {
		return u, err
	}
	counters, _, err := state.Counters.All(ctx)
	if err != nil {
		return u, err
	}
	judged, earned, err := state.Feedback.All(ctx)
	if err != nil {
		return u, err
	}
	u = usedBy{hex.EncodeToString(writer[:]), countedUses(counters), map[string]activity.Feedback{}, earned}
	for slug, j := range judged {
		u.judged[slug] = activity.Feedback{Useful: j.Useful, Wrong: j.Wrong}
	}
	return u, nil
}

// known adds what a memory says of uses elsewhere.
func (u usedBy) known(v answer.View, now time.Time) activity.Known {
	return activity.Known{Uses: answer.Uses(v, u.writer, u.own, now), Feedback: u.judged}
}
