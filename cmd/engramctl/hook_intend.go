package main

import (
	"context"
	"strings"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
)

// intended is what is told of intentions at a prompt, noted as shown, and which they
// are.
func (a *app) intended(ctx context.Context, told telling) (text string, slugs []string, err error) {
	var lines []string
	var shown []intentions.Item
	var as answer.State
	err = told.copy.Read(ctx, func(v answer.View) error {
		as = v.State()
		items := intentions.Look(v, intentions.Ask{Now: time.Now(), Place: told.place, Text: told.prompt, Seen: seenBy(told.seen)})
		lines, shown, _ = intentions.Lines(items, hook.IntendedBudget)
		return nil
	})
	if err != nil || len(shown) == 0 || ctx.Err() != nil {
		return "", nil, err
	}
	a.telling.Store(true)
	line := map[memorystate.Shown]string{}
	var ask []memorystate.Shown
	for n, i := range shown {
		s := memorystate.Shown{Slug: i.Slug, Hash: i.Key}
		ask, line[s] = append(ask, s), lines[n]
	}
	fresh, err := told.state.Sessions.Show(ctx, told.session, told.harness, ask)
	if err != nil || len(fresh) == 0 {
		return "", nil, err
	}
	var out strings.Builder
	for _, s := range fresh {
		out.WriteString(line[s])
		slugs = append(slugs, s.Slug)
	}
	return hook.Intended(out.String(), as.AsOf, as.Stale || as.Unfinished), slugs, nil
}
