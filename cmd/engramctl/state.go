package main

import (
	"context"

	"engramd/internal/agentstate"
	"engramd/internal/client"
)

// openState opens what this machine knows of a pair and no relay has.
func (a *app) openState(ctx context.Context, m *client.Memory, warn func(string)) (*agentstate.State, error) {
	return agentstate.Open(ctx, agentstate.Pair{Agent: m.Agent(), Owner: m.Owner(), Conversation: m.Conversation()},
		agentstate.Options{Dir: agentstate.Dir(func(name string) string { return a.env[name] }, a.home()), Warn: warn})
}

// counting returns what a server tells which memories were used.
func counting(s *agentstate.State, failed func(error)) func(ctx context.Context, read bool, slugs []string) {
	return func(ctx context.Context, read bool, slugs []string) {
		use := agentstate.Recalled
		if read {
			use = agentstate.Read
		}
		if err := s.Count(ctx, use, slugs...); err != nil {
			failed(err)
		}
	}
}
