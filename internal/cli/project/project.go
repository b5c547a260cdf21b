// Package project links folders to the memory of their project: engramctl project.
package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/project"
	memorystate "engramd/internal/memory/state"
)

// New returns engramctl project.
func New(env *cliutil.Env) *cobra.Command {
	return cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "project",
		Short: "Say which folders are of which project's memory",
		Long: `Say which folders of this machine are of which project's memory.

What an agent remembers of a project stands at mem/projects/NAME and below. NAME is
host, owner and name of the git remote "origin" of the folder in which a session works,
one level each, and 8 hex digits of a hash (github-com/ana/atlas-1a2b3c4d);
or, without one, the folder's name with 8 hex digits of its path. Since the maker of a
folder chooses its remote, the hooks of a folder that is new here show only how many
texts there are, until a person links it. A write of the agent links it if there was
nothing of the project and no other folder of this machine has it. Further git work
trees are linked with their clone.`,
		Example: `  engramctl project link
  engramctl project ls`,
	}, linkCommand(env), showCommand(env), migrateCommand(env), unlinkCommand(env), lsCommand(env)))
}

// foldersOut is `project ls --json`.
type foldersOut struct {
	Folders []linkedOut `json:"folders"`
}

// linkedOut is one of them.
type linkedOut struct {
	Folder  string `json:"folder"`
	Project string `json:"project"`
	Prefix  string `json:"slug"` // of its memory
	Since   string `json:"since"`
}

func linkCommand(env *cliutil.Env) *cobra.Command {
	return folderCommand(env, &cobra.Command{
		Use:   "link [FOLDER] [--json]",
		Short: "Have the hooks show a project's memory in a folder",
		Long: `Have the hooks show the memory of its project in a folder (default: this one), and in
all git work trees of its clone. Another remote later is another project, and not
linked. Who links a folder vouches for what its .git says, also where that belongs to
another user or leads elsewhere.`,
		Example: `  engramctl project link
  engramctl project link ~/src/atlas`,
	}, func(ctx context.Context, folder string, _ bool) error {
		p, err := vouched(folder)
		if err != nil {
			return err
		}
		return WithState(ctx, env, func(state *memorystate.State) error {
			if err := state.Folders.Link(ctx, p.Clone, p.Name, p.Old); err != nil {
				return err
			}
			s, err := session.StandingOf(ctx, state, folder)
			if err != nil {
				return err
			}
			return printStanding(ctx, env, state, s)
		})
	})
}

func unlinkCommand(env *cliutil.Env) *cobra.Command {
	return folderCommand(env, &cobra.Command{
		Use:   "unlink [FOLDER]",
		Short: "Have the hooks show no project's memory in a folder",
		Long: `Have the hooks show no project's memory in a folder (default: this one) and the work
trees of its clone, but how many texts there are. What is remembered stays. A folder
that is gone is named as project ls prints it. Exit code 1 if the folder was not linked.`,
		Example: `  engramctl project unlink ~/src/atlas`,
	}, func(ctx context.Context, folder string, given bool) error {
		p, err := vouched(folder)
		if errors.Is(err, fs.ErrNotExist) && given {
			p.Folder, p.Clone, err = folder, folder, nil
		}
		if err != nil {
			return err
		}
		return WithState(ctx, env, func(state *memorystate.State) error {
			was, err := state.Folders.Unlink(ctx, p.Folder, p.Clone)
			if err == nil && !was {
				err = fmt.Errorf("%s: %w: it is not linked", p.Folder, client.ErrNotFound)
			}
			return err
		})
	})
}

func lsCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:     "ls [--json]",
		Short:   "List the folders whose project's memory hooks show",
		Example: `  engramctl project ls --json | jq -r '.folders[].folder'`,
	}, func(ctx context.Context, _ []string) error {
		return WithState(ctx, env, func(state *memorystate.State) error {
			all, err := state.Folders.All(ctx)
			if err != nil {
				return err
			}
			out := foldersOut{Folders: []linkedOut{}}
			for _, f := range all {
				out.Folders = append(out.Folders, linkedOut{f.Path, f.Project, project.Prefix + f.Project, cliutil.Stamp(f.Since.Unix())})
			}
			if env.Flags.JSON {
				return env.PrintJSON(out)
			}
			return cliutil.Each(env, out.Folders, func(f linkedOut) string { return f.Project + "  " + f.Since + "  " + f.Folder })
		})
	})
}

// WithState runs do on what this machine knows of the pair. No relay is asked.
func WithState(ctx context.Context, env *cliutil.Env, do func(*memorystate.State) error) error {
	opened, err := env.Session(ctx)
	if err != nil {
		return err
	}
	defer opened.Close()
	m := opened.Memory
	if !m.Writable() {
		return client.ErrReadOnly
	}
	state, err := m.Session().OpenState(ctx, env.NoteLine)
	if err != nil {
		return err
	}
	defer state.Close()
	return do(state)
}

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

func showCommand(env *cliutil.Env) *cobra.Command {
	return folderCommand(env, &cobra.Command{
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
			return printStanding(ctx, env, state, s)
		})
	})
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

func printStanding(ctx context.Context, env *cliutil.Env, state *memorystate.State, s session.Standing) error {
	out := projectOut{Folder: s.Folder, Project: s.Name, Prefix: project.Prefix + s.Name, Remote: s.Remote, Linked: s.Linked, Reads: s.Reads != "",
		Others: append([]string{}, s.Others...), Shared: append([]string{}, s.Shared...), Doubt: s.Doubt}
	if s.Old != "" {
		out.Old = project.Prefix + s.Old
	}
	if env.Flags.JSON {
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
