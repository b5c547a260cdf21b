package session

import (
	"context"
	"encoding/hex"
	"time"

	"engramd/internal/client/memory"
	"engramd/internal/memory/activity"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

// strong are the slugs of hits that fit well: the nearest of what does not fit was of
// no use yet.
func strong(hits []answer.Hit) (slugs []string) {
	for _, h := range hits {
		if h.Fit == recall.Strong {
			slugs = append(slugs, h.Slug)
		}
	}
	return slugs
}

// withState shows do what this machine knows of the pair, if a state is kept.
func withState(ctx context.Context, s *Session, do func(*memorystate.State)) {
	state, done := stateNow(ctx, s)
	defer done()
	if state != nil {
		do(state)
	}
}

// CountRecalled counts what a command recalled and printed.
func (s *Session) CountRecalled(ctx context.Context, hits []answer.Hit) {
	if len(hits) == 0 {
		return
	}
	withState(ctx, s, func(state *memorystate.State) {
		if err := state.Counters.Count(ctx, memorystate.Recalled, strong(hits)...); err != nil {
			s.note("uses of memories are not counted: %v", err)
		}
	})
}

// Uses returns how often the pair's memories were used on this machine; nil if that
// is not known.
func (s *Session) Uses(ctx context.Context) (uses map[string]answer.Use) {
	withState(ctx, s, func(state *memorystate.State) {
		var err error
		if uses, err = usesIn(ctx, state); err != nil {
			s.note("how often memories were used is not known: %v", err)
		}
	})
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

// PublishUses tells other machines, after a command has written, how often memories
// were used on this one. It does not fail.
func (s *Session) PublishUses(ctx context.Context) {
	withState(ctx, s, func(state *memorystate.State) {
		if err := publishUses(ctx, s, state); err != nil {
			s.note("other machines are not told yet how often memories were used: %v", err)
		}
	})
}

// publishUses writes the counters at most once a day. What fails is told with the
// next day's.
func publishUses(ctx context.Context, s *Session, state *memorystate.State) error {
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
	if _, _, err := s.Memory.Set(ctx, slug, activity.EncodeUsage(countedUses(all)), memory.SetOptions{}); err != nil {
		return err
	}
	return state.Counters.Flushed(ctx, all)
}

func countedUses(all []memorystate.Counter) map[string]activity.Use {
	uses := make(map[string]activity.Use, len(all))
	for _, c := range all {
		uses[c.Slug] = activity.Use{N: c.Recalled + c.Read, Last: c.Last}
	}
	return uses
}

// Used is what this machine knows of uses and judgements, before it looks at a
// memory.
type Used struct {
	writer string
	own    map[string]activity.Use
	judged map[string]activity.Feedback
	Earned int // tokens of budget
}

// UsedHere reads it from the state; of no state nothing is known.
func UsedHere(ctx context.Context, state *memorystate.State) (u Used, err error) {
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
	u = Used{hex.EncodeToString(writer[:]), countedUses(counters), map[string]activity.Feedback{}, earned}
	for slug, j := range judged {
		u.judged[slug] = activity.Feedback{Useful: j.Useful, Wrong: j.Wrong}
	}
	return u, nil
}

// Known adds what a memory says of uses elsewhere.
func (u Used) Known(v answer.View, now time.Time) activity.Known {
	return activity.Known{Uses: answer.Uses(v, u.writer, u.own, now), Feedback: u.judged}
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

// JudgeError is why a memory that is judged cannot be read. Nothing is noted.
type JudgeError struct {
	Slug nipae.Slug
	Err  error
}

// Error says which memory it is.
func (e *JudgeError) Error() string { return string(e.Slug) + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *JudgeError) Unwrap() error { return e.Err }

// Judge notes in a state whether memories that exist were useful, all or none, and
// returns the budget of tokens by then. Nothing is written to the memory.
func (s *Session) Judge(ctx context.Context, state *memorystate.State, useful bool, slugs []nipae.Slug) (budget int, err error) {
	names := make([]string, len(slugs))
	for i, slug := range slugs {
		if _, _, err := s.Memory.Get(ctx, slug); err != nil {
			return 0, &JudgeError{Slug: slug, Err: err}
		}
		names[i] = string(slug)
	}
	if err := state.Feedback.Judge(ctx, useful, names...); err != nil {
		return 0, err
	}
	_, earned, err := state.Feedback.All(ctx)
	return activity.Budget(0, earned), err
}
