package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/memory/project"
	memorystate "engramd/internal/memory/state"
)

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
	}, projectLinkCommand(env), projectShowCommand(env), projectMigrateCommand(env), projectUnlinkCommand(env), projectLsCommand(env)))
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

func projectLinkCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := folderCommand(env, &cobra.Command{
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
			return printStanding(ctx, env, state, s, asJSON)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
}

func projectUnlinkCommand(env *cliutil.Env) *cobra.Command {
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

func projectLsCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := env.Command(&cobra.Command{
		Use:     "ls [--json]",
		Short:   "List the folders whose project's memory hooks show",
		Example: `  engramctl project ls --json | jq -r '.folders[].folder'`,
		Args:    cobra.NoArgs,
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
			if asJSON {
				return env.PrintJSON(out)
			}
			for _, f := range out.Folders {
				if err := env.Print("%s  %s  %s\n", f.Project, f.Since, f.Folder); err != nil {
					return err
				}
			}
			return nil
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
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
