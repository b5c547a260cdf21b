package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	"engramd/internal/agent/session"
	agentview "engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// wakeOut is `wake --json`.
type wakeOut struct {
	Agent     string           `json:"agent"`
	Owner     string           `json:"owner"`
	Text      string           `json:"text"` // what a session begins with
	Core      wakeCoreOut      `json:"core"`
	Narrative *wakeNarrative   `json:"narrative,omitempty"`
	Project   string           `json:"project,omitempty"`
	Linked    bool             `json:"linked"`
	Replay    []wakeEpisodeOut `json:"replay"`
	Due       []wakeDueOut     `json:"due"`
	Waits     wakeWaitsOut     `json:"waits"`
	AsOf      string           `json:"as_of,omitempty"` // of all but the core: when relays were last asked
	Stale     bool             `json:"stale"`
	// Unread says that all but the core could not be read: what is left out, or 0,
	// is not known.
	Unread bool `json:"unread,omitempty"`
	// Continuing is left out where nothing was written on this machine.
	Continuing *wakeContinuing `json:"continuing,omitempty"`
}

type wakeContinuing struct {
	Root string `json:"root"`
	N    int64  `json:"n"`
	Log  string `json:"log"`
	// Consolidated is left out where that was never, or is not known.
	Consolidated string `json:"last_consolidation,omitempty"`
}

type wakeCoreOut struct {
	State string `json:"state"` // "present", "unconfirmed" (the local copy's), "absent" or "unaccounted" (see core --help)
	Text  string `json:"text,omitempty"`
	Hash  string `json:"hash,omitempty"`
	AsOf  string `json:"as_of,omitempty"` // of one that is unconfirmed
	// Partial says that some relay did not answer, Behind that relays show an older one,
	// or none.
	Partial bool `json:"partial"`
	Behind  bool `json:"behind,omitempty"`
}

type wakeNarrative struct {
	Slug     string `json:"slug"`
	Text     string `json:"text"`
	Hash     string `json:"hash"`
	Versions int    `json:"versions,omitempty"` // left out where it is not known
}

type wakeEpisodeOut struct {
	Slug string `json:"slug"`
	When string `json:"when"`
	Text string `json:"text"`
}

type wakeDueOut struct {
	Slug   string `json:"slug"`
	Title  string `json:"title"`
	Action string `json:"action,omitempty"`
	Due    string `json:"due,omitempty"` // left out where it has no time
	Missed int64  `json:"missed"`        // occurrences before it that nobody closed
}

type wakeWaitsOut struct {
	Episodes      int      `json:"episodes"`
	AtLeast       bool     `json:"at_least,omitempty"`
	PlansOpen     []string `json:"plans_open"`
	PlansProposed []string `json:"plans_proposed"`
	Dream         bool     `json:"dream"`
}

// NewWake returns engramctl wake.
func NewWake(env *cliutil.Env) *cobra.Command {
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "wake [--json] [--attest]",
		Short: "Print what a session of the agent begins with",
		Long: `Print what a session of the agent begins with, as engramctl hook session-start tells
it, in at most 9,500 characters:

  the core, 4,000 characters of it
  the narrative, the agent's story of itself (mem/narrative), 1,500
  a line for each of both that rests on something superseded
  the memory of the project that the working folder is of, 1,500
  the intentions that are due, 800
  what waits: episodes that are not consolidated, plans that were begun, or that wait
    for the user, and whether a dream is offered; a hook tells what there is to think
    about once a day
  with --attest who it is: the key, the narrative's hash and version, and where it
    continues from: root and size of this machine's log, and when episodes were
    consolidated last
  a replay: up to 12 episodes that are most alive, as they were written

Relays are asked for 2 s. Where none answers, the core is that of the local copy and
says so; where there is none either, that is an error: it never looks as if nothing
were remembered. Where no relay shows a core and there may be one, a line in its place
says so, and the exit code is 6. Where relays show an older core than this machine has, or
none, its own is printed, and a line says so. What is external, or proposed, is counted
and not shown, but for what the owner corrects (docs/proposals.md).

--json gives the parts, whole, beside the text. Nothing is noted as shown, and no
session begins.

With --attest (attest = true in a profile) where it continues from is also signed: each
run writes it into an archived note, which is in the log like all that is written. --json
has it also without that. Where relays show less than this machine has, nothing is
attested (exit code 6). docs/trust.md says what that proves.`,
		Example: `  engramctl wake
  engramctl wake --json | jq -r .narrative.text`,
	}, func(ctx context.Context, _ []string) error { return wake(ctx, env) }))
	attestFlag(env, c)
	return c
}

// wake prints the beginning of a session in the working folder.
func wake(ctx context.Context, env *cliutil.Env) error {
	s, err := env.Session(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	w, err := brief(ctx, env, s, hook.Generic, hook.Input{Folder: cliutil.Folder(env)})
	defer w.Close()
	if err != nil {
		return err
	}
	attest, err := attests(env, s.Memory)
	if err != nil {
		return err
	}
	parts := w.Parts
	if parts.Who.Hash != "" {
		asking, done := context.WithTimeout(ctx, env.Allow(session.WakeBudget))
		defer done()
		// Without an answer it is not known, and left out.
		versions, _, _ := s.Memory.Log(asking, nipae.Slug(hook.NarrativeSlug))
		parts.Who.Versions = len(slices.DeleteFunc(versions, func(v memory.Version) bool { return v.Tombstone }))
	}
	told := parts
	if !attest {
		told.Who = hook.Identity{}
	}
	text := briefing.Tell(told).Text
	if env.Flags.JSON {
		err = env.PrintJSON(wakeOutOf(w, parts, text))
	} else {
		err = env.PrintText(text)
	}
	if err != nil || !attest {
		return cmp.Or(err, w.Core.Unaccounted)
	}
	ctx, done := env.Bounded(ctx)
	defer done()
	slug, err := w.AttestAs(ctx, parts.Start.From, session.Attestor{})
	switch {
	case errors.Is(err, session.ErrNoState):
		return exit.BadUsage(err)
	case err == nil && slug != "":
		env.Note("attested in %s", slug)
	}
	return cmp.Or(err, w.Core.Unaccounted)
}

// wakeOutOf gives the parts.
func wakeOutOf(w *session.Brief, p briefing.Parts, text string) wakeOut {
	s := p.Start
	out := wakeOut{Agent: p.Who.Agent, Owner: p.Who.Owner, Text: text, Core: wakeCoreOf(w.Core), Project: w.Project.Name, Linked: w.Project.Linked,
		Replay: []wakeEpisodeOut{}, Due: []wakeDueOut{}, Stale: s.Copy.Stale || p.Unread, Unread: p.Unread, AsOf: agentview.When(s.Copy.AsOf.UTC()),
		Waits: wakeWaitsOut{s.Counts.Episodes, s.Counts.AtLeast, append([]string{}, s.Counts.Open...), append([]string{}, s.Counts.Proposed...), s.Counts.Dream}}
	if s.Narrative != "" {
		out.Narrative = &wakeNarrative{hook.NarrativeSlug, frontmatter.Parse(s.Narrative).Body(), p.Who.Hash, p.Who.Versions}
	}
	for _, e := range s.Episodes {
		out.Replay = append(out.Replay, wakeEpisodeOut{e.Slug, e.When.UTC().Format(time.RFC3339), frontmatter.Parse(e.Text).Body()})
	}
	for _, i := range s.Due {
		out.Due = append(out.Due, wakeDueOut{i.Slug, i.Title, i.Action, agentview.When(i.Occurrence.Due), max(0, i.Count-1)})
	}
	if from := s.From; from.N > 0 {
		out.Continuing = &wakeContinuing{from.Root, from.N, from.Log, agentview.When(from.Consolidated.UTC())}
	}
	return out
}

func wakeCoreOf(f session.Core) wakeCoreOut {
	switch {
	case f.Unaccounted != nil:
		return wakeCoreOut{State: "unaccounted", Partial: f.Partial}
	case f.Entry == nil:
		return wakeCoreOut{State: "absent", Partial: f.Partial}
	}
	out := wakeCoreOut{State: "present", Text: f.Entry.Text, Hash: f.Entry.Hash, Partial: f.Partial, Behind: f.Behind}
	if f.Kept {
		out.State, out.Partial, out.AsOf = "unconfirmed", true, agentview.When(f.AsOf.UTC())
	}
	return out
}
