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

// minds reports whether the profile mind is offered.
func (s *Server) minds() bool { return s.o.Session != nil && s.o.Mind != nil && !s.readOnly }

// mindAlone reports whether no other tools for the memory are.
func (s *Server) mindAlone() bool { return s.minds() && s.o.Mind.Alone && s.o.Files == NoFiles }

// consolidates reports whether plans can be made.
func (s *Server) consolidates() bool { return s.minds() && s.o.Mind.Plans != nil }

// addMindTools adds the tools for what an agent makes of its memory. Every one of
// them stands in each session's context: maxMindTools is the limit.
func (s *Server) addMindTools() {
	add(s, "memory_intend", "Intend", effectAdd, describeIntend, s.intend)
	add(s, "memory_done", "Close", effectDestroy, describeDone, s.done)
	if s.o.Mind.Judge != nil {
		add(s, "memory_feedback", "Feedback", effectAdd, describeFeedback, s.feedback)
	}
	if s.o.Mind.Plans != nil {
		add(s, "mind_prepare", "Prepare", effectNone, describePrepare, s.mindPrepare)
		add(s, commitTool, "Commit", effectOverwrite, describeCommit, s.mindCommit)
		add(s, "mind_dream", "Dream", effectNone, describeDream, s.mindDream)
		add(s, "mind_undo", "Undo", effectOverwrite, describeUndo, s.mindUndo)
	}
}

// plans are those for the session that calls.
func (s *Server) plans(ctx context.Context) Plans {
	return s.o.Mind.Plans(s.o.Session.ID(ctx))
}
