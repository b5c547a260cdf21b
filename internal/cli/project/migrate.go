package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/project"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// migratedOut is `project migrate --json`.
type migratedOut struct {
	Folder   string       `json:"folder"`
	From     string       `json:"from"`
	To       string       `json:"to"`
	Moved    []nipae.Slug `json:"moved"`
	Mended   []nipae.Slug `json:"mended"`
	Unmended []nipae.Slug `json:"unmended"`
}

// migration is what the state keeps of one: the old name, the slugs that memories
// had below it, and the memories in which the name was changed.
type migration struct {
	Old   string
	Moved []nipae.Slug
	Named []nipae.Slug
}

func migrateCommand(env *cliutil.Env) *cobra.Command {
	var undo bool
	c := folderCommand(env, &cobra.Command{
		Use:   "migrate [FOLDER] [--undo] [--json]",
		Short: "Give a project's memory the name that it has now",
		Long: `Give the memory of a folder's project (default: this one) the name that it has now:
earlier versions named it mem/projects/HOST-OWNER-NAME, which several projects may have
had. Memories are written at their new slugs, links, relations and names in all others
are changed, and then the old ones are removed. The folder is linked to the project.
Where other folders of this machine have projects that had the same name, FOLDER must be
given: it says whose memory it is.

A run that broke off is taken up by the next one. That takes a few writes for each memory,
so raise --timeout where there are many. Exit code 5, and nothing is written, if something
else is at a new slug. --undo takes back what was migrated on this machine.`,
		Example: `  engramctl project migrate
  engramctl project migrate ~/src/atlas --undo`,
	}, func(ctx context.Context, folder string, given bool) error {
		return cliutil.WithOwnMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			state, err := m.Session().OpenState(ctx, env.NoteLine)
			if err != nil {
				return err
			}
			defer state.Close()
			s, err := session.StandingOf(ctx, state, folder)
			switch {
			case err != nil:
				return exit.BadUsage(err)
			case s.Old == "":
				return exit.Usagef("%s has no git remote that is believed, and so no older name", s.Folder)
			case len(s.Shared) > 0 && !given && !undo:
				return exit.Usagef("%s%s may also be the memory of %s: name the folder whose it is", project.Prefix, s.Old, strings.Join(s.Shared, ", "))
			}
			out, err := migrate(ctx, env, m, state, s, undo)
			if err != nil {
				return err
			}
			return printMigrated(env, out)
		})
	})
	c.Flags().BoolVar(&undo, "undo", false, "take back what was migrated on this machine")
	return c
}

// migrate renames a project's memory, or takes that back, and keeps in the state what
// that needs before anything is written.
func migrate(ctx context.Context, env *cliutil.Env, m *session.Memory, state *memorystate.State, s session.Standing, undo bool) (out migratedOut, err error) {
	out = migratedOut{Folder: s.Folder, From: project.Prefix + s.Old, To: project.Prefix + s.Name, Moved: []nipae.Slug{}, Mended: []nipae.Slug{}, Unmended: []nipae.Slug{}}
	data, err := state.Folders.Migrated(ctx, s.Name)
	if err != nil {
		return out, err
	}
	kept := migration{Old: s.Old}
	if data != nil {
		if err := json.Unmarshal(data, &kept); err != nil {
			return out, fmt.Errorf("what was migrated: %w", err)
		}
	}
	if kept.Old != s.Old || undo && data == nil {
		return out, fmt.Errorf("%w: nothing of %s was migrated on this machine", client.ErrNotFound, out.To)
	}
	if !undo {
		if err := state.Folders.Link(ctx, s.Clone, s.Name, s.Old); err != nil {
			return out, err
		}
	}
	r := kept.forth(out, func(k migration) error {
		data, err := json.Marshal(k)
		if err != nil {
			return err
		}
		return state.Folders.Migrate(ctx, s.Name, data)
	})
	if undo {
		out.From, out.To = out.To, out.From
		r = kept.back(out)
	}
	r.Check = cliutil.Guard(false)
	done, err := m.Writer(ctx).Relocate(ctx, r)
	out.Moved, out.Mended = append(out.Moved, done.Moved...), append(out.Mended, done.Mended...)
	for _, at := range done.Unmended {
		out.Unmended = append(out.Unmended, at.Slug)
	}
	if errors.Is(err, write.ErrTaken) {
		err = &client.ConflictError{Reason: err.Error() + "; nothing was written: rename it or what is to come there (engramctl mem mv)"}
	}
	if err == nil && undo {
		err = state.Folders.Migrate(ctx, s.Name, nil)
	}
	return out, cliutil.Understood(err)
}

// forth renames all that is at the old name.
func (k migration) forth(out migratedOut, keep func(migration) error) write.Relocation {
	old, name := strings.TrimPrefix(out.From, project.Prefix), strings.TrimPrefix(out.To, project.Prefix)
	return write.Relocation{
		To: func(slug string) (string, bool) {
			return out.To + strings.TrimPrefix(slug, out.From), project.Own(slug, old)
		},
		Named: func(_ nipae.Slug, now string) (string, bool) { return name, now == old },
		Planned: func(moved, named []nipae.Slug) error {
			k.Moved, k.Named = united(k.Moved, moved), united(k.Named, named)
			return keep(k)
		},
	}
}

// united are the slugs of two lists, each once.
func united(a, b []nipae.Slug) []nipae.Slug {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// back renames what a migration has renamed, and nothing that was written since.
func (k migration) back(out migratedOut) write.Relocation {
	was := map[string]string{}
	for _, slug := range k.Moved {
		was[out.From+strings.TrimPrefix(string(slug), out.To)] = string(slug)
	}
	return write.Relocation{
		To: func(slug string) (string, bool) { old, ok := was[slug]; return old, ok },
		Named: func(at nipae.Slug, now string) (string, bool) {
			return k.Old, project.Prefix+now == out.From && slices.Contains(k.Named, at)
		},
	}
}

func printMigrated(env *cliutil.Env, out migratedOut) error {
	for _, slug := range out.Unmended {
		env.Note("%s names %s as before", slug, out.From)
	}
	return env.Show(out, "%s -> %s: %s renamed, links of %s changed\n", out.From, out.To, cliutil.Counted(len(out.Moved), "memory", "memories"), cliutil.Counted(len(out.Mended), "other", "others"))
}

// decided reports whether a person has said on this machine whose memory is at the
// old name that several projects had: it was migrated.
func decided(ctx context.Context, state *memorystate.State, s session.Standing) bool {
	return slices.ContainsFunc(append([]string{s.Folder}, s.Shared...), func(folder string) bool {
		p, err := project.Of(folder)
		if err != nil {
			return false
		}
		var done migration
		data, err := state.Folders.Migrated(ctx, p.Name)
		return err == nil && data != nil && json.Unmarshal(data, &done) == nil && done.Old == s.Old
	})
}
