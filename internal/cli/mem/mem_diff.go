package mem

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/snapshot"
	"engramd/nips/nipae"
)

// diffOut is `mem diff --json`.
type diffOut struct {
	cliutil.AnswerOut
	Slug string           `json:"slug"`
	From cliutil.EntryOut `json:"from"`
	To   cliutil.EntryOut `json:"to"`
	Diff string           `json:"diff"` // unified, without file names
}

func memDiffCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := env.Command(&cobra.Command{
		Use:   "diff SLUG [FROM [TO]] [--json]",
		Short: "Show how two versions of a memory differ",
		Long: `Show how two versions of a memory differ, line by line. FROM and TO are ids or
times, as with mem get --at. Without TO it is the current version, without FROM the
one before that. A removal counts as an empty text. The output has the form of
diff -u; nothing is printed if the texts are the same.`,
		Example: `  engramctl mem diff notes
  engramctl mem diff notes 2026-01-31
  engramctl mem diff notes 5f1b8e0c9a3d2e44 2c9d01aa5b7e6f10`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 3 {
				return cliutil.Arguments("SLUG", "FROM", "TO")(nil, args)
			}
			return nil
		},
	}, func(ctx context.Context, args []string) error {
		slug, err := cliutil.SlugArgument(args[0])
		if err != nil {
			return err
		}
		var whens []memory.When
		for _, arg := range args[1:] {
			when, err := memory.ParseWhen(arg, time.Now())
			if err != nil {
				return exit.Usagef("%q: %w", arg, err)
			}
			whens = append(whens, when)
		}
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			from, to, status, err := m.Between(ctx, slug, whens...)
			if err := env.Report(status, cliutil.About(slug, client.Entry{}, err)); err != nil {
				return err
			}
			return printDiff(env, m, slug, from, to, status, asJSON)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
}

func printDiff(env *cliutil.Env, m *session.Memory, slug nipae.Slug, from, to client.Entry, status client.Status, asJSON bool) error {
	diff := snapshot.Unified(from.Text, to.Text)
	if asJSON {
		return env.PrintJSON(diffOut{cliutil.AnswerOf(m, status), string(slug), cliutil.EntryFor(from), cliutil.EntryFor(to), diff})
	}
	if diff == "" {
		env.Note("%s says the same in both versions", slug)
		return nil
	}
	name := func(e client.Entry) string {
		if e.ID == "" {
			return "nothing"
		}
		return fmt.Sprintf("%s  %s  %s", slug, cliutil.Stamp(e.CreatedAt), e.ID[:cliutil.ShortID])
	}
	return env.PrintText(fmt.Sprintf("--- %s\n+++ %s\n%s", name(from), name(to), diff))
}
