package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"engramd/internal/agent/session"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/nips/nipae"
)

// Mind is what the tools of the profile mind need beside the memory: a tool whose
// part is nil is left out.
type Mind struct {
	// Plans makes plans and carries them out; what it writes is stamped with the
	// session.
	Plans func(session string) Plans
	// Judge notes which memories were useful.
	Judge Judge
	// Alone leaves out the other tools for the memory.
	Alone bool
}

// Plans are prepared, committed and taken back. *plans.Plans implements it; its
// documentation says which errors each method returns.
type Plans interface {
	Prepare(ctx context.Context, kind consolidation.Kind, o plans.PrepareOptions) (consolidation.Plan, string, error)
	Commit(ctx context.Context, id string, ops []consolidation.Op) (plans.Result, error)
	Undo(ctx context.Context, id string, force bool) (plans.Undone, error)
}

var _ Plans = (*plans.Plans)(nil)

// mindTools are the tools of the profile mind.
type mindTools struct{ m *memories }

// minds reports whether the profile mind is offered.
func (s *memories) minds() bool { return s.mind != nil && !s.readOnly }

// mindAlone reports whether no other tools for the memory are.
func (s *memories) mindAlone() bool { return s.minds() && s.mind.Alone && s.files == NoFiles }

// consolidates reports whether plans can be made.
func (s *memories) consolidates() bool { return s.minds() && s.mind.Plans != nil }

// addMindTools adds the tools for what an agent makes of its memory. Every one of
// them stands in each session's context: maxMindTools is the limit.
func (s *Server) addMindTools() {
	t := &mindTools{s.memories}
	add(s, "memory_intend", "Intend", effectAdd, describeIntend, t.intend)
	add(s, "memory_done", "Close", effectDestroy, describeDone, t.done)
	if t.m.mind.Judge != nil {
		add(s, "memory_feedback", "Feedback", effectAdd, describeFeedback, t.feedback)
	}
	if t.m.mind.Plans != nil {
		add(s, "mind_prepare", "Prepare", effectNone, describePrepare, t.mindPrepare)
		add(s, commitTool, "Commit", effectOverwrite, describeCommit, t.mindCommit)
		add(s, "mind_dream", "Dream", effectNone, describeDream, t.mindDream)
		add(s, "mind_undo", "Undo", effectOverwrite, describeUndo, t.mindUndo)
	}
}

// plans are those for the session that calls.
func (s *mindTools) plans(ctx context.Context) Plans {
	return s.m.mind.Plans(s.m.session.ID(ctx))
}

// MaxJudged is how many memories one call may judge.
const MaxJudged = 20

// Judge notes that memories, which must exist, were useful or wrong, and returns
// the budget of tokens by then. Its errors are *session.JudgeError, and those of whatever
// keeps it.
type Judge func(ctx context.Context, useful bool, slugs []nipae.Slug) (budget int, err error)

type feedbackIn struct {
	Verdict string   `json:"verdict" jsonschema:"useful, wrong"`
	Slugs   []string `json:"slugs" jsonschema:"of which memories"`
}

type feedbackOut struct {
	Verdict string `json:"verdict"`
	Budget  int    `json:"budget" jsonschema:"tokens before archiving is proposed"`
}

const describeFeedback = `After a success that memories made possible, call them useful; or wrong, if they misled: they come sooner, or later, from then on. No text changes.`

func (s *mindTools) feedback(ctx context.Context, in feedbackIn) (feedbackOut, error) {
	verdict := strings.ToLower(strings.TrimSpace(in.Verdict))
	switch {
	case verdict != "useful" && verdict != "wrong":
		return feedbackOut{}, invalidf("verdict is useful or wrong.")
	case len(in.Slugs) == 0 || len(in.Slugs) > MaxJudged:
		return feedbackOut{}, invalidf("slugs names 1 to %d memories.", MaxJudged)
	}
	var slugs []nipae.Slug
	for _, given := range in.Slugs {
		slug, err := parseOwn(given)
		if err != nil {
			return feedbackOut{}, err
		}
		if !slices.Contains(slugs, slug) {
			slugs = append(slugs, slug)
		}
	}
	return reading(ctx, s.m.calls, func(ctx context.Context) (feedbackOut, error) {
		budget, err := s.m.mind.Judge(ctx, verdict == "useful", slugs)
		if err != nil {
			failed := &about{error: err}
			if one, ok := errors.AsType[*session.JudgeError](err); ok {
				failed.slug = one.Slug
			}
			return feedbackOut{}, failed
		}
		return feedbackOut{verdict, budget}, nil
	})
}
