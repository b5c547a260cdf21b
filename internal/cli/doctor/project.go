package doctor

import (
	"context"
	"strings"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/memory/project"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
)

// maxProjects is how many of this machine's folders are looked at.
const maxProjects = 256

// projects looks whether the working folder is linked to its project, and for old
// names of those that are known here. memory says that the relays answer.
func (d *doctor) projects(ctx context.Context, memory bool) {
	opened, err := d.env.Session(ctx)
	if err != nil {
		return // others have said so
	}
	defer opened.Close()
	state := opened.StateIfKept(ctx, func(string) {})
	if state == nil {
		return
	}
	defer state.Close()
	all, err := state.Folders.All(ctx)
	if err != nil {
		return
	}
	here, err := session.StandingOf(ctx, state, cliutil.Folder(d.env))
	if err == nil && here.Remote+here.Doubt != "" {
		linked(d, here)
	}
	count := func(string) int { return -1 } // not known
	if copy, err := opened.Copies.Open(ctx, func(string) {}); memory && err == nil {
		defer func() { _ = copy.Close() }()
		count = func(name string) (n int) {
			_ = copy.Source().Read(ctx, func(v answer.View) error { // what cannot be read was said
				n = len(briefing.Heads(v, name))
				return nil
			})
			return n
		}
	}
	oldNames(ctx, d, state, append([]memorystate.Folder{{Path: cliutil.Folder(d.env)}}, all...), count)
}

// linked says whether the working folder is linked.
func linked(d *doctor, s session.Standing) {
	const link = "engramctl project link, if this folder is that project"
	switch at := project.Prefix + s.Name; {
	case s.Linked:
		d.add("project", fine, "", "%s is %s", s.Folder, at)
	case s.Doubt != "" && s.Remote == "":
		d.add("project", warned, link, "%s is %s: the .git in %s is not believed, since %s", s.Folder, at, s.DoubtAt, s.Doubt)
	case len(s.Others) > 0:
		d.add("project", warned, link, "%s is %s as %s is, and not linked: its sessions are told nothing of that memory", s.Folder, at, strings.Join(s.Others, ", "))
	default:
		d.add("project", warned, link, "%s is %s and not linked: its sessions are told nothing that is there; if nothing is, the agent's first write links it", s.Folder, at)
	}
}

// oldNames says which memories still have an old name, and whose that may be.
func oldNames(ctx context.Context, d *doctor, state *memorystate.State, folders []memorystate.Folder, count func(name string) int) {
	said := map[string]bool{"": true}
	for _, f := range folders[:min(len(folders), maxProjects)] {
		s, err := session.StandingOf(ctx, state, f.Path)
		if err != nil || said[s.Old] {
			continue
		}
		n := 0
		if len(s.Shared) > 0 || s.Linked {
			n, said[s.Old] = count(s.Old), true
		}
		switch old := project.Prefix + s.Old; {
		case len(s.Shared) > 0 && n != 0:
			d.add("project", warned, "engramctl project migrate FOLDER, with the one whose memory it is", "%s is the old name of several projects, in %s; none of them is told what is there", old,
				strings.Join(append([]string{s.Folder}, s.Shared...), ", "))
		case n > 0:
			d.add("project", warned, "engramctl project migrate, in "+s.Folder, "%s at %s, the old name of %s%s", cliutil.Counted(n, "text is", "texts are"), old, project.Prefix, s.Name)
		}
	}
}
