package edit

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
)

func memLinkCommand(env *cliutil.Env) *cobra.Command {
	var asJSON, remove bool
	var base string
	e := write.Edge{}
	c := env.Command(&cobra.Command{
		Use:   "link FROM RELATION TO [--strength N] [--remove] [--base HASH] [--json]",
		Short: "Say how one memory relates to another",
		Long: `Say how one memory relates to another, in the front matter of the first: RELATION is
` + strings.Join(frontmatter.Relations[:4], ", ") + `,
` + strings.Join(frontmatter.Relations[4:], ", ") + `. Both memories must exist. One that is there already gets the
strength. --remove takes it away; then TO need not exist. A mere mention is [[slug]] in
the text instead, and so is every link from the core, which has no fields.

supersedes says so and changes nothing at TO: while that is active it is recalled as
before, and stderr names the command that marks it (mem set FROM --supersedes TO).`,
		Example: `  engramctl mem link projects/atlas derived_from journal/2026-11 --strength 0.8
  engramctl mem link projects/atlas derived_from journal/2026-11 --remove`,
		Args:              cliutil.Arguments("FROM", "RELATION", "TO"),
		ValidArgsFunction: relations,
	}, func(ctx context.Context, args []string) (err error) {
		if e.From, err = cliutil.OwnSlug(args[0]); err != nil {
			return err
		}
		if e.To, err = cliutil.SlugArgument(args[2]); err != nil {
			return err
		}
		if err := cliutil.CheckHash("--base", base); err != nil {
			return err
		}
		e.Relation = args[1]
		return writeOne(ctx, env, asJSON, e.From, func(ctx context.Context, m *session.Memory) (client.Entry, client.Status, error) {
			do := m.Writer(ctx).Relate
			if remove {
				do = m.Writer(ctx).Unrelate
			}
			r, err := do(ctx, e, memory.SetOptions{Base: base, Whole: env.Flags.Strict})
			return r.Entry, r.Status, err
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	cliutil.BaseFlag(c, &base)
	c.Flags().Float64Var(&e.Strength, "strength", 1, "how strong it is, a `NUMBER` above 0, at most 1")
	c.Flags().BoolVar(&remove, "remove", false, "take the relation away")
	return c
}

// relations completes the second argument.
func relations(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return frontmatter.Relations, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
