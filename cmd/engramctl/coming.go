package main

import (
	"context"
	"os"
	"strings"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/agent/mcp"
	"engramd/internal/client"
	"engramd/internal/memory/intentions"
	memorystate "engramd/internal/memory/state"
)

// seenBy says which intentions a session was shown.
func seenBy(seen []memorystate.Shown) func(slug, key string) bool {
	shown := map[string][]string{}
	for _, s := range seen {
		shown[s.Slug] = append(shown[s.Slug], s.Hash)
	}
	return func(slug, key string) bool { return intentions.Seen(shown[slug], key) }
}

// freshItems returns the first items that a session was not shown before, at most
// that many, and notes that it is now: of several processes of the session one is
// told so.
func freshItems(ctx context.Context, state *memorystate.State, id, harness string, items []intentions.Item, most int) ([]intentions.Item, error) {
	if len(items) == 0 {
		return nil, nil
	}
	before, err := state.Sessions.Shown(ctx, id)
	if err != nil {
		return nil, err
	}
	seen := seenBy(before)
	byKey := map[memorystate.Shown]intentions.Item{}
	var ask []memorystate.Shown
	for _, i := range items {
		if len(ask) < most && !seen(i.Slug, i.Key) {
			s := memorystate.Shown{Slug: i.Slug, Hash: i.Key}
			ask, byKey[s] = append(ask, s), i
		}
	}
	if len(ask) == 0 {
		return nil, nil
	}
	fresh, err := state.Sessions.Show(ctx, id, harness, ask)
	var all []intentions.Item
	for _, s := range fresh {
		all = append(all, byKey[s])
	}
	return all, err
}

// folder is where the command works; "" if that is not known.
func (a *app) folder() string {
	folder := a.Dir
	if folder == "" {
		folder, _ = os.Getwd() // "" is no project
	}
	return folder
}

// serveIntentions has a server know where its session works, and which intentions
// that was shown.
func (a *app) serveIntentions(state *memorystate.State, o *mcp.Options) {
	folder := a.folder()
	o.Place = func(ctx context.Context) intentions.Place { return placeOf(ctx, state, folder) }
	o.Fresh = func(ctx context.Context, items []intentions.Item, most int) ([]intentions.Item, bool) {
		id := ""
		if o.Current != nil {
			id = o.Current(ctx)
		}
		if id == "" {
			return nil, false
		}
		fresh, err := freshItems(ctx, state, id, string(hook.Generic), items, most)
		if err != nil {
			o.Log.Warn("which intentions the session was shown is not known", "error", err)
		}
		return fresh, err == nil
	}
}

// placeFor is where a command of a pair works.
func (a *app) placeFor(ctx context.Context, m *client.Memory) intentions.Place {
	state := a.stateOf(ctx, m, a.NoteLine)
	if state != nil {
		defer state.Close()
	}
	return placeOf(ctx, state, a.folder())
}

// maxComing is how many intentions come with one answer.
const maxComing = 5

// comingOut is an intention that comes up, in JSON.
type comingOut struct {
	Slug   string `json:"slug"`
	Why    string `json:"why"`
	Text   string `json:"text"`
	Action string `json:"action,omitempty"`
	Due    string `json:"due,omitempty"`
}

func comingOf(items []intentions.Item) (all []comingOut) {
	for _, i := range items {
		out := comingOut{Slug: i.Slug, Why: i.Why(), Text: i.Title, Action: i.Action}
		if !i.Occurrence.Due.IsZero() {
			out.Due = i.Occurrence.Due.Format(time.RFC3339)
		}
		all = append(all, out)
	}
	return all
}

// linesOf is the same for people and models.
func linesOf(items []intentions.Item) string {
	if len(items) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("## intentions (what you meant to do)\n")
	for _, i := range items {
		out.WriteString(i.Line())
	}
	return out.String()
}
