package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	"engramd/internal/agent/mcp"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/project"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
)

// standing is a folder's project, and what this machine knows of it.
type standing struct {
	project.Project
	linked bool
	// before says that it is linked by its old name alone.
	before bool
	// reads is the old name, if the folder reads its memory; "" otherwise.
	reads string
	// others are folders of other clones that have the project, and shared are those of
	// other projects that had its old name: then none reads that.
	others, shared []string
}

// standingOf finds the project of a folder, and what a state knows of it; nil knows
// nothing. An error beside a name says that it could not be found out whether the
// folder is linked.
func standingOf(ctx context.Context, state *memorystate.State, folder string) (s standing, err error) {
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
			s.others = append(s.others, other)
		case s.Old != "" && (err != nil || o.Old == s.Old):
			s.shared = append(s.shared, other)
		}
	}
	s.before = known.Before && !known.Linked
	s.linked = known.Linked || known.Before && len(s.shared) == 0
	if s.linked && len(s.shared) == 0 {
		s.reads = s.Old
	}
	return s, nil
}

// vouch believes what a folder says of itself, if a person has linked it to that.
func (s *standing) vouch(ctx context.Context, state *memorystate.State, folder string) error {
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

// place is where a folder is, for intentions.
func (s standing) place() intentions.Place {
	return intentions.Place{Project: s.Name, Old: s.reads, Linked: s.linked}
}

// memory is what is known of the project, without its units. In a folder that is
// not linked all that it might read is counted.
func (s standing) memory(unsure bool) hook.Memory {
	p := hook.Memory{Project: s.Name, Old: s.reads, Linked: s.linked, Unsure: unsure, Others: len(s.others) > 0}
	switch {
	case len(s.shared) > 0:
		p.Shared = s.Old
	case !s.linked:
		p.Old = s.Old
	}
	return p
}

// session is the folder's part of a session.
func (s standing) session(one memorystate.Session) memorystate.Session {
	one.Folder, one.Project, one.Clone, one.Old = s.Folder, s.Name, s.Clone, s.Old
	return one
}

// unwritten reports whether a memory had nothing of the project before some slugs
// were written. What is not known is not nothing.
func (s standing) unwritten(ctx context.Context, copy answer.Source, slugs []string) (yes bool) {
	err := copy.Read(ctx, func(v answer.View) error {
		as := v.State()
		yes = !as.Stale && !as.Unfinished &&
			!slices.ContainsFunc(briefing.Heads(v, s.Name, s.Old), func(h answer.Head) bool { return !slices.Contains(slugs, h.Slug) })
		return nil
	})
	return yes && err == nil
}

// writeLinks returns the clone that a write of the agent links to its project: one
// whose project no other folder of this machine has, and that had no memory; "" for
// none.
func writeLinks(ctx context.Context, state *memorystate.State, o *mcp.Options, folder string, slugs []string) string {
	s, err := standingOf(ctx, state, folder)
	if err != nil || s.linked || len(s.others)+len(s.shared) > 0 || !slices.ContainsFunc(slugs, func(slug string) bool { return project.Own(slug, s.Name) }) {
		return ""
	}
	if o.Settle != nil {
		o.Settle(ctx)
	}
	if o.Copy == nil || !s.unwritten(ctx, o.Copy, slugs) {
		return ""
	}
	return s.Clone
}

// placeOf is where a folder is, for intentions; a state says whether it is linked.
func placeOf(ctx context.Context, state *memorystate.State, folder string) intentions.Place {
	s, _ := standingOf(ctx, state, folder) // not known: it is not
	return s.place()
}
