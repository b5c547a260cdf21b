package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agentstate"
	"engramd/internal/client"
	"engramd/internal/mcp"
	"engramd/internal/project"
	"engramd/internal/recall"
	"engramd/internal/recollect"
)

// maxRemotes is in how many folders it is looked up what their repositories are
// called.
const maxRemotes = 256

// scopeOf is whose memory is told in a folder. Without a state nothing is known of
// folders, and all is told to an agent that asks. named says of which projects it matters what
// their repositories are called, since other folders may be slow; nil: of all.
func scopeOf(ctx context.Context, state *agentstate.State, folder string, named func(project string) bool) (s recollect.Scope, err error) {
	if state == nil {
		return s, nil
	}
	all, err := state.Folders(ctx)
	if err != nil {
		return s, err
	}
	where, err := project.Of(folder) // of no project: it is linked to none
	if err == nil && slices.ContainsFunc(all, func(f agentstate.Folder) bool { return f.Path == where.Folder && f.Project == where.Name }) {
		s.Own, s.Remote, s.Last = []string{where.Name}, where.Remote, where.Last
	}
	at, looked := map[string]int{}, 0
	for _, f := range all {
		if slices.Contains(s.Own, f.Project) {
			continue
		}
		i, known := at[f.Project]
		if !known {
			i = len(s.Others)
			at[f.Project] = i
			s.Others = append(s.Others, recall.Project{Name: f.Project})
		}
		if s.Others[i].Remote != "" || looked == maxRemotes || named != nil && !named(f.Project) {
			continue
		}
		looked++
		if p, err := project.Of(f.Path); err == nil && p.Name == f.Project { // by now it may have another
			s.Others[i].Remote, s.Others[i].Last = p.Remote, p.Last
		}
	}
	return s, nil
}

// toldScope is what a hook may tell at a prompt.
func toldScope(ctx context.Context, state *agentstate.State, folder, prompt string) (recollect.Scope, error) {
	prompt = strings.ToLower(prompt)
	s, err := scopeOf(ctx, state, folder, func(name string) bool {
		word := name[strings.LastIndexAny(strings.TrimRight(unhashed(name), "-_"), "-_/")+1:]
		return strings.Contains(prompt, "/") && strings.Contains(prompt, unhashed(word))
	})
	s.Told = true
	return s, err
}

// unhashed is a project's name without the eight hex digits that may end it.
func unhashed(name string) string {
	if at := len(name) - 9; at > 0 && name[at] == '-' && strings.Trim(name[at+1:], "0123456789abcdef") == "" {
		return name[:at]
	}
	return name
}

// askedScope is whose memory a command that asks is told, all of it if that is
// wanted. Where it is not known which folders are linked, it is all.
func (a *app) askedScope(ctx context.Context, m *client.Memory, all bool) recollect.Scope {
	state := a.stateOf(ctx, m, a.noteLine)
	if state == nil {
		return recollect.Scope{All: all}
	}
	defer state.Close()
	s, err := scopeOf(ctx, state, a.folder(), nil)
	if err != nil {
		a.note("which project this is is not known, so all projects are looked through: %v", err)
	}
	s.All = all
	return s
}

// serveScope has a server know in which project its session works.
func (a *app) serveScope(state *agentstate.State, o *mcp.Options) {
	folder := a.folder()
	o.Scope = func(ctx context.Context) recollect.Scope {
		s, err := scopeOf(ctx, state, folder, nil)
		if err != nil {
			o.Log.Warn("in which project the session works is not known", "error", err)
		}
		return s
	}
}

// allProjectsFlag is --all-projects.
func allProjectsFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "all-projects", false, "the memory of other projects too")
}

// noteOthers says how many memories were left out because of the project they are of.
func (a *app) noteOthers(n int) {
	if n > 0 {
		a.note("%d in other projects (--all-projects)", n)
	}
}
