package mcp

import (
	"cmp"
	"context"
	"strings"
	"time"

	"engramd/internal/agent/view"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/intentions/acts"
	"engramd/internal/memory/quote"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/internal/platform/timeparse"
	"engramd/nips/nipae"
)

type intendIn struct {
	Text    string `json:"text" jsonschema:"what you mean to do"`
	Due     string `json:"due,omitempty" jsonschema:"2026-12-01T09:00:00+01:00, tomorrow 9:00, in 2 hours"`
	Every   string `json:"every,omitempty" jsonschema:"P1D, P1W, PT4H: again from due on"`
	Until   string `json:"until,omitempty" jsonschema:"the last time"`
	Trigger string `json:"trigger,omitempty" jsonschema:"when a release of Atlas is planned: compared with prompts by its words"`
	Where   string `json:"where,omitempty" jsonschema:"project: only in this one"`
	Action  string `json:"action,omitempty" jsonschema:"what to do then"`
	Slug    string `json:"slug,omitempty" jsonschema:"left out: one is made"`
}

type intentionOut struct {
	writeOut
	State string `json:"state" jsonschema:"active, or done"`
	Next  string `json:"next,omitempty" jsonschema:"when it is open next"`
}

const describeIntend = `Remember to do something later: at a time, again and again, or when a prompt is about something. It is shown in sessions from then on, until it is closed. Without due and trigger: from now on.`

func (s *mindTools) intend(ctx context.Context, in intendIn) (intentionOut, error) {
	if err := checkText(in.Text); err != nil {
		return intentionOut{}, err
	}
	d := acts.Draft{Text: in.Text, Due: in.Due, Every: in.Every, Until: in.Until, Trigger: in.Trigger, Where: in.Where, Action: in.Action}
	at := nipae.Slug("mem/intentions")
	if in.Slug != "" {
		slug, err := parseOwn(in.Slug)
		if err != nil {
			return intentionOut{}, err
		}
		d.Slug, at = slug, slug
	}
	if strings.TrimSpace(d.Where) == "project" {
		if d.Where = s.m.session.Where(ctx).Project; d.Where == "" {
			return intentionOut{}, invalidf("where: it is not known which project this session works on. Give the project's name.")
		}
	}
	return writing(ctx, s.m.calls, []nipae.Slug{at}, func(ctx context.Context) (intentionOut, error) {
		w, err := acts.Make(ctx, s.m.writer(ctx), d, s.m.clock(), guard(false, true))
		if err != nil {
			return intentionOut{}, failedWrite(cmp.Or(w.Slug, d.Slug), w.Result, err)
		}
		return s.intended(w), nil
	})
}

func (s *mindTools) intended(w acts.Written) intentionOut {
	return intentionOut{s.m.wrote(w.Slug, w.Result), string(w.Intention.State), view.When(w.Next)}
}

type doneIn struct {
	Slug       string `json:"slug" jsonschema:"as it was shown"`
	As         string `json:"as,omitempty" jsonschema:"done (default), snooze, cancel"`
	Until      string `json:"until,omitempty" jsonschema:"of snooze: tomorrow 9:00, in 2 hours"`
	Occurrence string `json:"occurrence,omitempty" jsonschema:"the due that you were shown"`
}

const describeDone = `Close an intention: done (one that repeats comes again at its next time), snooze until a time, or cancel for good. If somebody else was faster, it says who.`

func (s *mindTools) done(ctx context.Context, in doneIn) (intentionOut, error) {
	slug, err := parseOwn(in.Slug)
	if err != nil {
		return intentionOut{}, err
	}
	as, now := cmp.Or(strings.ToLower(strings.TrimSpace(in.As)), "done"), s.m.clock()
	var until, occurrence time.Time
	switch {
	case as != "done" && as != "snooze" && as != "cancel":
		return intentionOut{}, invalidf("as is done, snooze or cancel.")
	case (as == "snooze") != (in.Until != ""):
		return intentionOut{}, invalidf("until says how long to snooze: snooze needs it, and nothing else takes it.")
	case in.Occurrence != "" && as != "done":
		return intentionOut{}, invalidf("occurrence is for done only.")
	}
	if in.Until != "" {
		if until, err = timeparse.Parse(in.Until, timeparse.Begin, now); err != nil {
			return intentionOut{}, invalidf("until: %v.", err)
		}
	}
	if in.Occurrence != "" {
		if occurrence, err = timeparse.Parse(in.Occurrence, timeparse.Begin, now); err != nil {
			return intentionOut{}, invalidf("occurrence: %v.", err)
		}
	}
	return writing(ctx, s.m.calls, []nipae.Slug{slug}, func(ctx context.Context) (intentionOut, error) {
		w := acts.Written{}
		switch as {
		case "done":
			w, err = acts.Done(ctx, s.m.writer(ctx), slug, occurrence, now)
		case "snooze":
			w, err = acts.Snooze(ctx, s.m.writer(ctx), slug, until, now)
		default:
			w, err = acts.Cancel(ctx, s.m.writer(ctx), slug, now)
		}
		if f := adviceOn(err, ofIntentions); f != nil {
			f.Slug = string(slug)
			return intentionOut{}, f
		}
		if err != nil {
			return intentionOut{}, failedWrite(slug, w.Result, err)
		}
		return s.intended(w), nil
	})
}

// scope is in which project the session asks.
func (s *memories) scope(ctx context.Context, all bool) (in recallanswer.Scope) {
	in = s.session.Scope(ctx)
	in.All = all
	return in
}

// fresh returns the first items that the session was not shown before, at most that
// many, and notes that it is now.
func (s *memories) fresh(ctx context.Context, items []intentions.Item, most int) []intentions.Item {
	if len(items) > 0 {
		if fresh, known := s.session.Fresh(ctx, items, most); known {
			return fresh
		}
	}
	return s.shown.fresh(items, most)
}

// coming returns the intentions that come up beside a query, those that the session
// was not shown yet.
func (s *memories) coming(ctx context.Context, items []intentions.Item) []view.Coming {
	return view.ComingOf(s.fresh(ctx, items, maxComing), quote.Line)
}
