// Package briefing finds what a session begins with in a memory at one moment: the
// narrative, episodes that come back, what is due and what waits; and puts it
// together with the core (Tell). It is pure over a view: who calls it reads the
// core, the sessions and the clock.
package briefing

import (
	"context"
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/memory/activity"
	"engramd/internal/memory/apart"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

const core = "core"

// Options say what is looked for, and where.
type Options struct {
	Now time.Time
	// Project is that of the folder in which the session works, and Linked that the
	// folder is known to be its. Episodes of other projects do not come unasked. Old is
	// as in hook.Memory, and Last of the repository: see recall.Scope.
	Project, Old, Last string
	Linked             bool
	// Known is what this machine knows of how memories were used, and Writer as
	// whom it says so in the memory.
	Known  activity.Known
	Writer string
	// Seen reports whether the session was shown an intention by a key; nil was
	// shown nothing.
	Seen func(slug, key string) bool
	// Dreamt is what earlier dreams drew, of which When says how soon another one is
	// offered; nil knows nothing of dreams, and none is.
	Dreamt map[string]consolidation.Dreamt
	When   consolidation.DreamWhen
	// From is this machine's log; when episodes were consolidated last is looked up.
	From hook.Continuing
}

// Start is what a session begins with, beside the core and the project's memory.
type Start struct {
	Narrative string // its whole text; "" if there is none that may be shown
	Rests     string // a line for each of core and narrative that rests on what was superseded
	Episodes  []hook.Episode
	Due       []intentions.Item
	Counts    hook.Counts
	Copy      hook.Copy
	From      hook.Continuing
	Apart     []apart.Unit           // writes that met a newer text
	Words     map[string]answer.Word // the owner's, by slug
}

// Of looks a memory through. Where ctx ends before all episodes were looked at,
// the newest were, and Counts says so.
func Of(ctx context.Context, v answer.View, o Options) Start {
	s := Start{From: o.From, Apart: apart.In(v, ""), Words: answer.WordsOf(v), Copy: hook.Copy{AsOf: v.State().AsOf, Stale: v.State().Stale || v.State().Unfinished}}
	s.Counts.Behind = v.State().Behind
	if text, ok := v.Text(hook.NarrativeSlug); ok && hook.Narrates(text) && !s.Words[hook.NarrativeSlug].Withholds() {
		s.Narrative = text
	} else {
		delete(s.Words, hook.NarrativeSlug)
	}
	for _, slug := range []string{core, hook.NarrativeSlug} {
		if by := v.Index().Truth().Of(slug).PartlySupersededBy; len(by) > 0 && (slug != hook.NarrativeSlug || s.Narrative != "") {
			s.Rests += slug + " rests in part on what was superseded by " + strings.Join(by, ", ") + ".\n"
		}
	}
	s.Due = intentions.Look(v, intentions.Ask{Now: o.Now, Place: intentions.Place{Project: o.Project, Old: o.Old, Linked: o.Linked}, Seen: o.Seen})
	s.episodes(ctx, v, o)
	s.plans(v, o.Now)
	s.Counts.Dream = o.Dreamt != nil && ctx.Err() == nil && dreams(v, o)
	return s
}

// episodes finds those that come back, and counts those that wait.
func (s *Start) episodes(ctx context.Context, v answer.View, o Options) {
	all := v.Index().Matching(recall.Filter{Types: []frontmatter.Type{frontmatter.Episodic}, States: []frontmatter.State{frontmatter.Active}})
	slices.SortFunc(all, func(a, b recall.Listed) int { // the newest first
		if c := b.When.Compare(a.When); c != 0 {
			return c
		}
		return strings.Compare(a.Slug, b.Slug)
	})
	o.Known.Uses = answer.Uses(v, o.Writer, o.Known.Uses, o.Now)
	alive := activity.NewReader(o.Known, activity.Informations(v.Index().Said()), "")
	here := recall.Scope{Told: true}
	if o.Linked {
		here.Own, here.Last = []string{o.Project}, o.Last
		if o.Old != "" {
			here.Own = append(here.Own, o.Old)
		}
	}
	within := v.Index().Within(here, "")
	for _, l := range all {
		if ctx.Err() != nil {
			s.Counts.AtLeast = true
			break
		}
		text, ok := v.Text(l.Slug)
		if !ok || answer.Reserved(l.Slug) {
			continue
		}
		f := frontmatter.Parse(text).Fields()
		if f.Consolidated.IsZero() {
			s.Counts.Episodes++
		} else if f.Trust != frontmatter.External {
			s.consolidated(f.Consolidated.Time, o.Now)
		}
		says := s.Words[l.Slug]
		if f.Trust == frontmatter.External || says.Withholds() || !within.Has(l.Slug) || v.Index().Truth().Stale(l.Slug) {
			continue
		}
		if u, ok := answer.Unit(v, alive, l.Slug, text, l.When); ok {
			s.keep(hook.Episode{Slug: l.Slug, Text: text, When: l.When, Weight: f.Salience * u.Activation(o.Now), Note: note(v, l.Slug), Says: says})
		}
	}
}

// plans finds those that are not closed: their ids, and nothing of what they say.
func (s *Start) plans(v answer.View, now time.Time) {
	for _, r := range plans.Records(v) {
		switch {
		case r.Err != nil: // nothing is known of it
		case r.Status == plans.Done && r.Kind == consolidation.Consolidate:
			s.consolidated(r.Closed, now)
		case r.Status == plans.Proposed:
			s.Counts.Proposed = append(s.Counts.Proposed, r.ID)
		case r.Status == plans.Open || r.Status == plans.Undoing:
			s.Counts.Open = append(s.Counts.Open, r.ID)
		}
	}
}

// consolidated notes that episodes were at a time; one that has not come is none.
func (s *Start) consolidated(at, now time.Time) {
	if at.After(s.From.Consolidated) && !at.After(now) {
		s.From.Consolidated = at
	}
}

// exact is how many units may be looked at to know whether a dream can be drawn;
// of more it can.
const exact = 500

// dreams reports whether a dream is to be offered: it is time for one, and there is
// something to dream of.
func dreams(v answer.View, o Options) bool {
	known := recall.Filter{Types: []frontmatter.Type{frontmatter.Semantic, frontmatter.Procedural}, States: []frontmatter.State{frontmatter.Active}, MinTrust: frontmatter.Derived}
	n := v.Index().Count(known)
	if n < consolidation.DreamUnits {
		return false
	}
	last, since := consolidation.LastDream(o.Now, o.Dreamt), 0
	if !consolidation.DreamDue(o.Now, last, since, o.When) {
		since = consolidation.NewUnits(v, last)
	}
	if !consolidation.DreamDue(o.Now, last, since, o.When) {
		return false
	}
	if n > exact {
		return true
	}
	_, err := consolidation.PrepareDream(v, consolidation.DreamOptions{Now: o.Now, Dreamt: o.Dreamt})
	return err == nil
}

// Waits reports whether anything waits for somebody.
func (s *Start) Waits() bool { return len(s.Due) > 0 || !s.Counts.Zero() }

// keep keeps the most alive.
func (s *Start) keep(e hook.Episode) {
	at, _ := slices.BinarySearchFunc(s.Episodes, e, hook.Alive)
	if at >= hook.MaxReplay {
		return
	}
	s.Episodes = slices.Insert(s.Episodes, at, e)
	s.Episodes = s.Episodes[:min(len(s.Episodes), hook.MaxReplay)]
}
