package edit

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

func appendCommand(env *cliutil.Env) *cobra.Command {
	var o memory.SetOptions
	var allow bool
	c := env.Command(&cobra.Command{
		Use:   "append SLUG TEXT|- [--base HASH] [--allow-secret] [--json]",
		Short: "Add text to a memory",
		Long: `Add text at the end of a memory, on a new line; one that is not there is made. With "-"
the text comes from stdin. Fields stay as they are, and created, source and trust are
stamped; while no relay answers it is kept on this machine (engramctl outbox).

Several sessions may add to one memory at the same time: who meets another one's text
adds to that, within --timeout (JSON: rebased). With --base nothing is added to another
text than that, and the exit code is 5. If it is not known whether the text was added
(exit code 4), look before you add it again.

A text in which something looks like a key or a token is refused, unless --allow-secret
is given.`,
		Example: `  engramctl mem append projects/atlas "- 28 November: SQLite is in"`,
	}, cliutil.OnSlug(cliutil.OwnSlug, func(ctx context.Context, slug nipae.Slug, args []string) error {
		if err := cliutil.CheckHash(o.Base); err != nil {
			return err
		}
		text, err := Value(env, args[1], false)
		if err != nil {
			return err
		}
		o.Later, o.Check = &memory.Later{}, cliutil.Guard(allow)
		from := ""
		err = writeOne(ctx, env, slug, func(ctx context.Context, m *session.Memory) (client.Entry, client.Status, error) {
			r, err := m.Writer(ctx).Append(ctx, slug, text, o)
			from = r.From
			return r.Entry, r.Status, err
		})
		if err == nil {
			NoteCopied(env, slug, from)
		}
		return err
	}))
	cliutil.BaseFlag(c, &o.Base)
	cliutil.SecretFlag(c, &allow)
	return c
}
