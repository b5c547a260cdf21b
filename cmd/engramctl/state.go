package main

import (
	"context"

	"engramd/internal/agentstate"
	"engramd/internal/client"
	"engramd/internal/mcp"
	"engramd/internal/recollect"
)

// openState opens what this machine knows of a pair and no relay has.
func (a *app) openState(ctx context.Context, m *client.Memory, warn func(string)) (*agentstate.State, error) {
	return agentstate.Open(ctx, agentstate.Pair{Agent: m.Agent(), Owner: m.Owner(), Conversation: m.Conversation()},
		agentstate.Options{Dir: agentstate.Dir(func(name string) string { return a.env[name] }, a.home()), Warn: warn})
}

// keepState has a server count in the agent's state which memories are used, and
// returns what to call in the end; nil if nothing is kept. Without the state
// everything else works.
func (a *app) keepState(ctx context.Context, m *client.Memory, o *mcp.Options) (done func()) {
	s, err := a.settings()
	if err != nil || a.flags.noMirror || s.noMirror || !m.Writable() {
		return nil
	}
	state, err := a.openState(ctx, m, func(line string) { o.Log.Warn(line) })
	if err != nil {
		o.Log.Warn("uses of memories are not counted", "error", err)
		return nil
	}
	o.Used = func(ctx context.Context, read bool, slugs []string) {
		use := agentstate.Recalled
		if read {
			use = agentstate.Read
		}
		if err := state.Count(ctx, use, slugs...); err != nil {
			o.Log.Warn("a use of memories is not counted", "error", err)
		}
	}
	o.Uses = func(ctx context.Context) (map[string]recollect.Use, error) { return usesIn(ctx, state) }
	return func() { _ = state.Close() } // each use is kept already
}

// usesIn reads how often memories were used on this machine.
func usesIn(ctx context.Context, state *agentstate.State) (map[string]recollect.Use, error) {
	counters, _, err := state.Counters(ctx)
	if err != nil {
		return nil, err
	}
	uses := make(map[string]recollect.Use, len(counters))
	for _, c := range counters {
		uses[c.Slug] = recollect.Use{Recalled: int(c.Recalled), Read: int(c.Read)}
	}
	return uses, nil
}
