package project

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/memory/project"
	memorystate "engramd/internal/memory/state"
)

// projectOut is `project show --json` and `project link --json`.
type projectOut struct {
	Folder  string `json:"folder"`
	Project string `json:"project"`
	Prefix  string `json:"slug"` // of its memory
	Remote  string `json:"remote,omitempty"`
	Linked  bool   `json:"linked"`
	// Old is the slug that the memory had under an earlier version's name, and Reads
	// that the folder is told what is there.
	Old   string `json:"old_slug,omitempty"`
	Reads bool   `json:"reads_old"`
	// Others are folders with the same project, and Shared those of other projects with
	// the same old name.
	Others []string `json:"others"`
	Shared []string `json:"shared"`
	Doubt  string   `json:"doubt,omitempty"`
}

func projectShowCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := folderCommand(env, &cobra.Command{
		Use:   "show [FOLDER] [--json]",
		Short: "Show which project a folder is of, and whether it is linked",
		Long: `Show which project a folder (default: this one) is of, the slug of its memory, and
whether hooks show that memory there. Nothing is changed.`,
		Example: `  engramctl project show
  engramctl project show ~/src/atlas --json | jq -r .slug`,
	}, func(ctx context.Context, folder string, _ bool) error {
		return WithState(ctx, env, func(state *memorystate.State) error {
			s, err := session.StandingOf(ctx, state, folder)
			if err != nil {
				return exit.BadUsage(err)
			}
			return printStanding(ctx, env, state, s, asJSON)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
}

// folderCommand is a command on the folder that is given, or this one.
func folderCommand(env *cliutil.Env, c *cobra.Command, run func(ctx context.Context, folder string, given bool) error) *cobra.Command {
	c.Args = cobra.MaximumNArgs(1)
	return env.Command(c, func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return run(ctx, env.Path(args[0]), true)
		}
		return run(ctx, cliutil.Folder(env), false)
	})
}

// vouched returns the project of a folder that a person names. What the folder says
// of itself is believed then, and noted for where it was in doubt.
func vouched(folder string) (project.Project, error) {
	p, err := project.Of(folder)
	if err == nil && p.Doubt != "" {
		at := p.DoubtAt
		p, err = project.Claimed(folder)
		p.Clone = at
	}
	if err != nil {
		return p, exit.BadUsage(err)
	}
	return p, nil
}

func printStanding(ctx context.Context, env *cliutil.Env, state *memorystate.State, s session.Standing, asJSON bool) error {
	out := projectOut{Folder: s.Folder, Project: s.Name, Prefix: project.Prefix + s.Name, Remote: s.Remote, Linked: s.Linked, Reads: s.Reads != "",
		Others: append([]string{}, s.Others...), Shared: append([]string{}, s.Shared...), Doubt: s.Doubt}
	if s.Old != "" {
		out.Old = project.Prefix + s.Old
	}
	if asJSON {
		return env.PrintJSON(out)
	}
	said := ""
	if !s.Linked {
		said = ", not linked: engramctl project link"
	}
	if err := env.Print("%s is %s%s\n", s.Folder, out.Prefix, said); err != nil {
		return err
	}
	for _, f := range s.Others {
		env.Note("%s is of the same project", f)
	}
	if s.Doubt != "" && s.Remote == "" {
		env.Note("%s: %s; engramctl project link believes it", filepath.Join(s.DoubtAt, ".git"), s.Doubt)
	}
	if len(s.Shared) > 0 && decided(ctx, state, s) {
		return nil
	}
	for _, f := range s.Shared {
		env.Note("%s had the same old name, %s: engramctl project migrate FOLDER says whose memory that is", f, out.Old)
	}
	return nil
}
