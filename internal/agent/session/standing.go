package session

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/project"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
)

// Standing is a folder's project, and what this machine knows of it.
type Standing struct {
	project.Project
	Linked bool
	// Before says that it is linked by its old name alone.
	Before bool
	// Reads is the old name, if the folder reads its memory; "" otherwise.
	Reads string
	// Others are folders of other clones that have the project, and Shared are those of
	// other projects that had its old name: then none reads that.
	Others, Shared []string
}

// StandingOf finds the project of a folder, and what a state knows of it; nil knows
// nothing. An error beside a name says that it could not be found out whether the
// folder is linked.
func StandingOf(ctx context.Context, state *memorystate.State, folder string) (s Standing, err error) {
	if s.Project, err = project.Of(folder); err != nil || state == nil {
		return s, err
	}
	if s.Doubt != "" {
		if err := s.vouch(ctx, state, folder); err != nil {
			return s, err
		}
	}
	known, err := state.Folders.Standing(ctx, s.Folder, s.Clone, s.Name, s.Old)
	if err != nil {
		return s, err
	}
	for _, other := range known.Others {
		switch o, err := project.Of(other); {
		case errors.Is(err, fs.ErrNotExist) || err == nil && o.Clone == s.Clone:
		case err == nil && (o.Name == s.Name || o.Doubt != ""): // a person may have vouched for it
			s.Others = append(s.Others, other)
		case s.Old != "" && (err != nil || o.Old == s.Old):
			s.Shared = append(s.Shared, other)
		}
	}
	s.Before = known.Before && !known.Linked
	s.Linked = known.Linked || known.Before && len(s.Shared) == 0
	if s.Linked && len(s.Shared) == 0 {
		s.Reads = s.Old
	}
	return s, nil
}

// vouch believes what a folder says of itself, if a person has linked it to that.
func (s *Standing) vouch(ctx context.Context, state *memorystate.State, folder string) error {
	all, err := state.Folders.All(ctx)
	if err != nil || !slices.ContainsFunc(all, func(f memorystate.Folder) bool { return f.Path == s.DoubtAt }) {
		return err
	}
	claimed, err := project.Claimed(folder)
	if err == nil && slices.ContainsFunc(all, func(f memorystate.Folder) bool { return f.Path == s.DoubtAt && f.Project == claimed.Name }) {
		claimed.DoubtAt, claimed.Clone = s.DoubtAt, s.DoubtAt
		s.Project = claimed
	}
	return nil
}

// Place is where a folder is, for intentions.
func (s Standing) Place() intentions.Place {
	return intentions.Place{Project: s.Name, Old: s.Reads, Linked: s.Linked}
}

// Memory is what is known of the project, without its units. In a folder that is
// not linked all that it might read is counted.
func (s Standing) Memory(unsure bool) hook.Memory {
	p := hook.Memory{Project: s.Name, Old: s.Reads, Linked: s.Linked, Unsure: unsure, Others: len(s.Others) > 0}
	switch {
	case len(s.Shared) > 0:
		p.Shared = s.Old
	case !s.Linked:
		p.Old = s.Old
	}
	return p
}

// Of is the folder's part of a session.
func (s Standing) Of(one memorystate.Session) memorystate.Session {
	one.Folder, one.Project, one.Clone, one.Old = s.Folder, s.Name, s.Clone, s.Old
	return one
}

// unwritten reports whether a memory had nothing of the project before some slugs
// were written. What is not known is not nothing.
func (s Standing) unwritten(ctx context.Context, copy answer.Source, slugs []string) (yes bool) {
	err := copy.Read(ctx, func(v answer.View) error {
		as := v.State()
		yes = !as.Stale && !as.Unfinished &&
			!slices.ContainsFunc(briefing.Heads(v, s.Name, s.Old), func(h answer.Head) bool { return !slices.Contains(slugs, h.Slug) })
		return nil
	})
	return yes && err == nil
}
