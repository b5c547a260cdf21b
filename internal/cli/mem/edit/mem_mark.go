package edit

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
)

// memMarkCommand is one of pin, unpin, archive and unarchive.
func memMarkCommand(env *cliutil.Env, mark write.Mark, short, long, example string) *cobra.Command {
	var asJSON bool
	var base string
	c := env.Command(&cobra.Command{
		Use:     string(mark) + " SLUG [--base HASH] [--json]",
		Short:   short,
		Long:    long,
		Example: example,
		Args:    cliutil.Arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := cliutil.OwnSlug(args[0])
		if err != nil {
			return err
		}
		if err := cliutil.CheckHash("--base", base); err != nil {
			return err
		}
		return writeOne(ctx, env, asJSON, slug, func(ctx context.Context, m *session.Memory) (client.Entry, client.Status, error) {
			r, err := m.Writer(ctx).Mark(ctx, slug, mark, memory.SetOptions{Base: base, Whole: env.Flags.Strict})
			return r.Entry, r.Status, err
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	cliutil.BaseFlag(c, &base)
	return c
}

func memPinCommand(env *cliutil.Env) *cobra.Command {
	return memMarkCommand(env, write.Pin, "Keep a memory from ever being archived", `Keep a memory from ever being archived: pin: true in its front matter. No other byte of
it changes, and a memory that is pinned already is left.`, `  engramctl mem pin projects/atlas`)
}

func memUnpinCommand(env *cliutil.Env) *cobra.Command {
	return memMarkCommand(env, write.Unpin, "Let a memory be archived again", `Let a memory be archived again: mem pin taken back, byte for byte.`, `  engramctl mem unpin projects/atlas`)
}

func memArchiveCommand(env *cliutil.Env) *cobra.Command {
	return memMarkCommand(env, write.Archive, "Have a memory recalled no more, and keep it", `Have a memory recalled no more, and keep it: state: archived in its front matter. No
other byte of it changes; text and history stay, mem get and mem search --state archived
find it, mem ls --archived lists it, and mem unarchive brings it back.

The core, the narrative, intentions that are not done and what is pinned are not
archived (exit code 2). Nor is a correction while what it corrects is active, which would
be found in its place: archive that first. Local copies are asked for it; where this
machine has none, stderr names what the memory supersedes and is active.`, `  engramctl mem archive journal/2024/05/minutes`)
}

func memUnarchiveCommand(env *cliutil.Env) *cobra.Command {
	return memMarkCommand(env, write.Unarchive, "Have an archived memory recalled again", `Have an archived memory recalled again: mem archive taken back, byte for byte. One that
is active is left; one that is superseded or done is not archived (exit code 2).`, `  engramctl mem unarchive journal/2024/05/minutes`)
}
