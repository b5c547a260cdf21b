package session

import (
	"context"
	"slices"
	"strings"

	"engramd/internal/memory/intentions"
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
func scopeOf(ctx context.Context, state *memorystate.State, where Standing, named func(project string) bool) (s answer.Scope, err error) {
	if state == nil {
		return s, nil
	}
	all, err := state.Folders.All(ctx)
	if err != nil {
		return s, err
	}
	if where.Linked {
		s.Own, s.Remote, s.Last = append(s.Own, where.Name), where.Remote, where.Last
		if where.Reads != "" {
			s.Own = append(s.Own, where.Reads)
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

// ToldScope is what a hook may tell at a prompt.
func ToldScope(ctx context.Context, state *memorystate.State, where Standing, prompt string) (answer.Scope, error) {
	prompt = strings.ToLower(prompt)
	s, err := scopeOf(ctx, state, where, func(name string) bool {
		words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_/", r) })
		last := words[max(0, len(words)-2):] // the last may be a hash
		return strings.Contains(prompt, "/") && slices.ContainsFunc(last, func(w string) bool { return strings.Contains(prompt, w) })
	})
	s.Told = true
	return s, err
}

// Place is where the agent works, and whose memory is told there.
type Place struct{ s *Session }

// At is where the agent's folder is, for intentions.
func (p Place) At(ctx context.Context) intentions.Place {
	state, done := stateNow(ctx, p.s)
	defer done()
	at, _ := StandingOf(ctx, state, p.s.o.Folder) // not known: it is not linked
	return at.Place()
}

// Scope is whose memory is told to an agent that asks, all of it if every says so, or
// where it is not known which folders are linked.
func (p Place) Scope(ctx context.Context, every bool) answer.Scope {
	state, done := stateNow(ctx, p.s)
	defer done()
	where, err := StandingOf(ctx, state, p.s.o.Folder)
	if err != nil { // of no project: it is linked to none
		where = Standing{}
	}
	s, err := scopeOf(ctx, state, where, func(string) bool { return true })
	if err != nil {
		p.s.warn("which project this is is not known, so all are looked through: %v", err)
	}
	s.All = every
	return s
}
