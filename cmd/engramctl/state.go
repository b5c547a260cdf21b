package main

import (
	"context"
	"fmt"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/mcp"
	"engramd/internal/client"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

// openState opens what this machine knows of a pair and no relay has.
func (a *app) openState(ctx context.Context, m *client.Memory, warn func(string)) (*memorystate.State, error) {
	return memorystate.Open(ctx, memorystate.Pair{Agent: m.Agent(), Owner: m.Owner(), Conversation: m.Conversation()},
		memorystate.Options{Dir: memorystate.Dir(func(name string) string { return a.Vars[name] }, a.Home()), Warn: warn})
}

// stateOf is openState where a state is kept; nil where none is or none can be.
// Without it everything else works.
func (a *app) stateOf(ctx context.Context, m *client.Memory, warn func(string)) *memorystate.State {
	s, err := a.Settings()
	if err != nil || a.Flags.NoMirror || s.NoMirror || !m.Writable() {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, a.Allow(openBudget))
	defer cancel()
	state, err := a.openState(soon, m, warn)
	if err != nil {
		warn(fmt.Sprintf("uses of memories are not counted: %v", err))
		return nil
	}
	return state
}

// keepState has a server count in the agent's state which memories are used, and
// returns what to call in the end; nil if nothing is kept.
func (a *app) keepState(ctx context.Context, m *client.Memory, o *mcp.Options) (done func()) {
	state := a.stateOf(ctx, m, func(line string) { o.Log.Warn(line) })
	if state == nil {
		if o.Mind != nil {
			o.Log.Warn("no plans can be made: nothing is kept on this machine")
		}
		return nil
	}
	o.Used = func(ctx context.Context, read bool, slugs []string) {
		use := memorystate.Recalled
		if read {
			use = memorystate.Read
		}
		if err := state.Counters.Count(ctx, use, slugs...); err != nil {
			o.Log.Warn("a use of memories is not counted", "error", err)
		}
	}
	a.serveSession(ctx, state, o)
	a.serveIntentions(state, o)
	o.Scope = func(ctx context.Context) answer.Scope {
		return a.askedScope(ctx, state, false, func(format string, args ...any) { o.Log.Warn(fmt.Sprintf(format, args...)) })
	}
	o.Wake = func(ctx context.Context) briefing.Options { return a.wakeOptions(ctx, state, "") }
	o.Uses = func(ctx context.Context) (map[string]answer.Use, error) { return usesIn(ctx, state) }
	if o.Mind != nil {
		o.Mind.Judge = func(ctx context.Context, useful bool, slugs []nipae.Slug) (int, error) {
			return a.judge(ctx, m, state, useful, slugs)
		}
	}
	stop := a.serveMind(ctx, m, state, o)
	told := a.serveUses(ctx, m, state, o)
	attested := a.serveAttest(ctx, m, state, o)
	return func() {
		stop()
		attested()
		told()
		_ = state.Close() // each use is kept already
	}
}

// countRecalled counts what a command recalled.
func (a *app) countRecalled(ctx context.Context, m *client.Memory, hits []answer.Hit) {
	if len(hits) == 0 {
		return
	}
	state := a.stateOf(ctx, m, a.NoteLine)
	if state == nil {
		return
	}
	defer state.Close()
	var slugs []string
	for _, h := range hits {
		if h.Fit == recall.Strong { // the nearest of what does not fit was of no use yet
			slugs = append(slugs, h.Slug)
		}
	}
	if err := state.Counters.Count(ctx, memorystate.Recalled, slugs...); err != nil {
		a.Note("uses of memories are not counted: %v", err)
	}
}

// usesOf returns how often a pair's memories were used on this machine; nil if
// that is not known.
func (a *app) usesOf(ctx context.Context, m *client.Memory) map[string]answer.Use {
	state := a.stateOf(ctx, m, a.NoteLine)
	if state == nil {
		return nil
	}
	defer state.Close()
	uses, err := usesIn(ctx, state)
	if err != nil {
		a.Note("how often memories were used is not known: %v", err)
		return nil
	}
	return uses
}

// usesIn reads how often memories were used on this machine.
func usesIn(ctx context.Context, state *memorystate.State) (map[string]answer.Use, error) {
	counters, _, err := state.Counters.All(ctx)
	if err != nil {
		return nil, err
	}
	uses := make(map[string]answer.Use, len(counters))
	for _, c := range counters {
		uses[c.Slug] = answer.Use{Recalled: int(c.Recalled), Read: int(c.Read)}
	}
	return uses, nil
}
