package mcp

import (
	"context"

	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
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
