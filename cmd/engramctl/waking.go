package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/harness"
	"engramd/internal/agent/hook"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/memory/activity"
	"engramd/internal/memory/consolidation"
	memorystate "engramd/internal/memory/state"
)

// wakeBudget is how long relays are asked at the start of a session.
const wakeBudget = 2 * time.Second

// besideBudget is how long the start of a session waits for what another process
// of this machine holds: the state or the copy. The core does not depend on them.
const besideBudget = 400 * time.Millisecond

// offersBudget is how long relays are asked what others propose, once they have
// answered.
const offersBudget = 500 * time.Millisecond

// lookAfter is when the local copy is looked through while relays are still asked:
// where none answers, there would be no time for it.
const lookAfter = 300 * time.Millisecond

// lookSpare is how long beyond wakeBudget the local copy is looked through: what
// was found until then is told.
const lookSpare = 200 * time.Millisecond

// waking is what the start of a session is told from.
type waking struct {
	a       *app
	h       hook.Harness
	in      hook.Input
	c       *client.Client
	m       *client.Memory
	kept    *localCopy // nil: none can be had
	state   *memorystate.State
	project standing
	unsure  bool // whether it is linked could not be found out
	look    briefing.Options
	core    coreFound
}

// wakeUp finds what a session begins with: the core from the relays, which are
// asked for wakeBudget, or from the local copy where none answers; and the rest
// from that copy.
func (a *app) wakeUp(ctx context.Context, h hook.Harness, in hook.Input) (*waking, briefing.Parts, error) {
	c, m, err := a.open(ctx)
	if err != nil {
		return nil, briefing.Parts{}, err
	}
	a.later(c.Close)
	w := &waking{a: a, h: h, in: in, c: c, m: m}
	w.project, _ = standingOf(ctx, nil, in.Folder) // none: nothing is told of one
	began := time.Now()
	local, stop := context.WithTimeout(ctx, a.Allow(wakeBudget))
	defer stop()
	w.aside(local, w.begin)
	w.aside(local, w.know)
	if w.state != nil {
		a.later(func() { _ = w.state.Close() })
	}
	w.aside(local, func(ctx context.Context) {
		if w.kept, err = a.openCopy(ctx, c, m, a.NoteLine); err == nil {
			a.later(func() { _ = w.kept.Close() }) // what was kept is kept
		}
	})
	w.aside(local, w.options)
	looking, enough := context.WithDeadline(ctx, began.Add(a.Allow(wakeBudget+lookSpare)))
	defer enough()
	found, err := w.find(ctx, local, looking)
	if err != nil {
		return nil, briefing.Parts{}, err
	}
	parts := briefing.Parts{Measure: hook.MeasureOf(h), Core: w.core.section(), Project: found.project, Start: found.start, Unread: !found.read}
	if parts.Unread {
		parts.Start.From = w.look.From
		parts.Start.From.Unread = true
	}
	if !parts.Unread {
		parts.Start.Counts.Offers = w.offers(ctx)
	}
	if parts.Start.Waits() {
		parts.Ways = a.waysOf(h)
	}
	parts.Who = hook.Identity{Agent: settings.Npub(m.Agent()), Owner: settings.Npub(m.Owner())}
	if text := parts.Start.Narrative; text != "" {
		parts.Who.Hash = client.Hash(text)
	}
	return w, parts, nil
}

// offers counts what others propose to the agent; what is not known soon is not
// said.
func (w *waking) offers(ctx context.Context) hook.Offers {
	if !w.m.Writable() || w.core.kept { // no relay answered
		return hook.Offers{}
	}
	ctx, done := context.WithTimeout(ctx, w.a.Allow(offersBudget))
	defer done()
	b, err := w.a.box(w.c, w.m)
	if err != nil {
		w.a.Note("what is proposed is not known: %v", err)
		return hook.Offers{}
	}
	in, _, err := b.List(ctx)
	if err != nil {
		return hook.Offers{}
	}
	return hook.OffersOf(in)
}

// aside does what the core does not depend on.
func (w *waking) aside(ctx context.Context, do func(context.Context)) {
	ctx, done := context.WithTimeout(ctx, w.a.Allow(besideBudget))
	defer done()
	do(ctx)
}

// options are what the copy is looked through for.
func (w *waking) options(ctx context.Context) {
	w.look = w.a.wakeOptions(ctx, w.state, sessionName(w.in.Session))
	at := w.project.place()
	w.look.Now, w.look.Project, w.look.Old, w.look.Linked, w.look.Last = time.Now(), at.Project, at.Old, at.Linked, w.project.Last
}

// wakeOptions are what a machine knows that counts at the start of a session. What
// is not known is none.
func (a *app) wakeOptions(ctx context.Context, state *memorystate.State, session string) briefing.Options {
	if state == nil {
		return briefing.Options{}
	}
	from, err := continuing(ctx, state)
	if err != nil {
		a.warn("where the memory continues from is not known: %v", err)
	}
	profile, _ := a.Profile() // who opened the state read it
	used, _ := usedHere(ctx, state)
	shown, _ := state.Sessions.Shown(ctx, session)
	return briefing.Options{Writer: used.writer, Known: activity.Known{Uses: used.own, Feedback: used.judged}, Seen: seenBy(shown),
		Dreamt: dreamtIn(ctx, state), When: profile.Dream, From: from}
}

// dreamtIn returns what dreams drew on this machine; nil where that is not known.
func dreamtIn(ctx context.Context, state *memorystate.State) map[string]consolidation.Dreamt {
	tallies, err := state.Tallies.Of(ctx, memorystate.Dreamt)
	if err != nil {
		return nil
	}
	dreamt := make(map[string]consolidation.Dreamt, len(tallies))
	for slug, t := range tallies {
		dreamt[slug] = consolidation.Dreamt{Times: t.N, Last: t.Last}
	}
	return dreamt
}

// waysOf is how an agent answers to what waits: by tools where the MCP server that
// setup wrote into the settings of its harness has them, else by commands, which
// are always there.
func (a *app) waysOf(h hook.Harness) hook.Ways {
	known, err := harness.Named(string(h))
	if err != nil || a.Home() == "" {
		return hook.WaysOf(false, false)
	}
	tools := strings.Split(known.Tools(harness.Disk{}, cliutil.Roots(a.Env)), ",")
	return hook.WaysOf(slices.Contains(tools, "mind"), slices.Contains(tools, "memory"))
}
