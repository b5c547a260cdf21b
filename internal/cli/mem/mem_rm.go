package mem

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/mem/edit"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

func memRmCommand(env *cliutil.Env) *cobra.Command {
	var asJSON, over bool
	c := env.Command(&cobra.Command{
		Use:   "rm SLUG [--over-unreadable] [--json]",
		Short: "Remove a memory",
		Long: `Remove a memory: a tombstone is written over it. Its old text stays in the relays'
history for a while (mem log, mem restore). The core cannot be removed, only
written anew. Exit code 1 if there is nothing to remove.`,
		Example: `  engramctl mem rm notes`,
		Args:    cliutil.Arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := cliutil.SlugArgument(args[0])
		if err != nil {
			return err
		}
		if slug.IsCore() {
			return exit.BadUsage(client.ErrCore)
		}
		return cliutil.WithOwnMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			entry, status, err := m.Remove(ctx, slug, over)
			if err := env.Report(status, nothingToRemove(slug, entry, cliutil.Explained(err))); err != nil {
				return cliutil.FirstOf(printAbsent(env, asJSON, m, slug, entry, status, err), err)
			}
			if asJSON {
				return env.PrintJSON(struct {
					cliutil.AnswerOut
					Slug    string `json:"slug"`
					Removed bool   `json:"removed"`
				}{cliutil.AnswerOf(m, status), string(slug), true})
			}
			return env.Print("%s  removed\n", slug)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	edit.OverFlag(c, &over)
	return c
}

// nothingToRemove is about for who wants a record gone.
func nothingToRemove(slug nipae.Slug, entry client.Entry, err error) error {
	if errors.Is(err, client.ErrTombstone) && entry.CreatedAt > 0 {
		return fmt.Errorf("nothing to remove: %s was %w before, at %s", slug, err, cliutil.Stamp(entry.CreatedAt))
	}
	if errors.Is(err, client.ErrNotFound) {
		return fmt.Errorf("nothing to remove: %s: %w", slug, err)
	}
	return cliutil.About(slug, entry, err)
}
