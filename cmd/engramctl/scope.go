package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/client"
	"engramd/internal/memory/project"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
)

// maxRemotes is in how many folders it is looked up what their repositories are
// called.
const maxRemotes = 256

// scopeOf is whose memory is told in a folder. Without a state nothing is known of
// folders, and all is told to an agent that asks. named says of which projects it
// matters what their repositories are called, since other folders may be slow.
func scopeOf(ctx context.Context, state *memorystate.State, where standing, named func(project string) bool) (s answer.Scope, err error) {
	if state == nil {
		return s, nil
	}
	all, err := state.Folders.All(ctx)
	if err != nil {
		return s, err
	}
	if where.linked {
		s.Own, s.Remote, s.Last = append(s.Own, where.Name), where.Remote, where.Last
		if where.reads != "" {
			s.Own = append(s.Own, where.reads)
		}
	}
	at, left := map[string]int{}, maxRemotes
	other := func(p recall.Project) *recall.Project { // the one of that name, or this
		i, known := at[p.Name]
		if !known {
			i = len(s.Others)
			at[p.Name], s.Others = i, append(s.Others, p)
		}
		return &s.Others[i]
	}
	for _, f := range all {
		if slices.Contains(s.Own, f.Project) {
			continue
		}
		o := other(recall.Project{Name: f.Project})
		if o.Remote != "" || left == 0 || !named(f.Project) {
			continue
		}
		left--
		p, err := project.Of(f.Path)
		if err != nil || p.Name != f.Project && p.Old != f.Project { // by now it may have another
			continue
		}
		o.Remote, o.Last = p.Remote, p.Last
		if p.Old != "" && !slices.Contains(s.Own, p.Old) {
			other(recall.Project{Name: p.Old, Remote: p.Remote, Last: p.Last})
		}
	}
	return s, nil
}

// toldScope is what a hook may tell at a prompt.
func toldScope(ctx context.Context, state *memorystate.State, where standing, prompt string) (answer.Scope, error) {
	prompt = strings.ToLower(prompt)
	s, err := scopeOf(ctx, state, where, func(name string) bool {
		words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_/", r) })
		last := words[max(0, len(words)-2):] // the last may be a hash
		return strings.Contains(prompt, "/") && slices.ContainsFunc(last, func(w string) bool { return strings.Contains(prompt, w) })
	})
	s.Told = true
	return s, err
}

// askedScope is whose memory is told to an agent that asks in the command's folder,
// all of it if every says so. Where it is not known which folders are linked, it is
// all, and said.
func (a *app) askedScope(ctx context.Context, state *memorystate.State, every bool, say func(format string, args ...any)) answer.Scope {
	where, err := standingOf(ctx, state, a.folder())
	if err != nil { // of no project: it is linked to none
		where = standing{}
	}
	s, err := scopeOf(ctx, state, where, func(string) bool { return true })
	if err != nil {
		say("which project this is is not known, so all are looked through: %v", err)
	}
	s.All = every
	return s
}

// scopeFor is askedScope for a command of a pair.
func (a *app) scopeFor(ctx context.Context, m *client.Memory, every bool) answer.Scope {
	state := a.stateOf(ctx, m, a.NoteLine)
	if state != nil {
		defer state.Close()
	}
	return a.askedScope(ctx, state, every, a.Note)
}

// allProjectsFlag is --all-projects.
func allProjectsFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "all-projects", false, "the memory of other projects too")
}

// noteOthers says how many memories were left out because of the project they are of.
func (a *app) noteOthers(n int) {
	if n > 0 {
		a.Note("%d in other projects (--all-projects)", n)
	}
}
