package edit

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// renamedOut is what mem mv prints as JSON.
type renamedOut struct {
	cliutil.AnswerOut
	cliutil.EntryOut
	From     string   `json:"from"`
	Removed  bool     `json:"from_removed"`
	Mended   []string `json:"mended,omitempty"`
	Unmended []string `json:"unmended,omitempty"`
	More     int      `json:"more_unmended,omitempty"`
}

func memMvCommand(env *cliutil.Env) *cobra.Command {
	var asJSON, mend bool
	c := env.Command(&cobra.Command{
		Use:   "mv SLUG TO [--mend-links] [--json]",
		Short: "Give a memory another slug",
		Long: `Give a memory another slug, where nothing may be: it is written there, then removed
where it was. Its history stays at the old slug (mem log). With --mend-links the links
and relations of other memories to it are changed too, 100 memories at most; that takes
a write for each of them, so raise --timeout where there are many.

What was not reached is said, and the exit code is that of the reason: then both slugs
may have the text, or links may still name the old one. Nothing is lost, and while SLUG
is there the same command goes on. Exit code 5 if there is another memory at TO.`,
		Example: `  engramctl mem mv notes projects/atlas/notes --mend-links`,
		Args:    cliutil.Arguments("SLUG", "TO"),
	}, func(ctx context.Context, args []string) error {
		from, err := cliutil.OwnSlug(args[0])
		if err != nil {
			return err
		}
		to, err := cliutil.OwnSlug(args[1])
		if err != nil {
			return err
		}
		return cliutil.WithOwnMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			r, err := m.Writer(ctx).Rename(ctx, from, to, mend, cliutil.Guard(false))
			if errors.Is(err, write.ErrTaken) {
				err = &client.ConflictError{Theirs: &r.Entry, Reason: fmt.Sprintf("there is a memory at %s", to)}
			}
			if err := env.Report(r.Status, cliutil.About(from, r.Entry, cliutil.Understood(err))); err != nil {
				return err
			}
			if err := printRenamed(env, asJSON, m, from, r); err != nil {
				return err
			}
			return unfinished(env, from, r)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	c.Flags().BoolVar(&mend, "mend-links", false, "change the links of other memories too")
	return c
}

func printRenamed(env *cliutil.Env, asJSON bool, m *session.Memory, from nipae.Slug, r write.Renamed) error {
	if !asJSON {
		return env.Print("%s  %d B  hash %s\n", r.Slug, r.Size, r.Hash)
	}
	out := renamedOut{AnswerOut: cliutil.AnswerOf(m, r.Status), EntryOut: cliutil.EntryFor(r.Entry), From: string(from), Removed: r.Kept == nil}
	for _, slug := range r.Mended {
		out.Mended = append(out.Mended, string(slug))
	}
	for _, f := range r.Unmended {
		out.Unmended = append(out.Unmended, string(f.Slug))
	}
	out.More = r.More
	return env.PrintJSON(out)
}

// unfinished says what a rename did not reach; the error is the first of it.
func unfinished(env *cliutil.Env, from nipae.Slug, r write.Renamed) error {
	if n := len(r.Mended); n > 0 {
		env.Note("the links of %s are changed", cliutil.Counted(n, "memory", "memories"))
	}
	var all []error
	if r.Kept != nil {
		all = append(all, fmt.Errorf("%s is written, and %s is still there: %w", r.Slug, from, r.Kept))
	}
	if r.MendErr != nil {
		all = append(all, fmt.Errorf("other memories may link to %s: %w", from, r.MendErr))
	}
	for _, f := range r.Unmended {
		all = append(all, fmt.Errorf("%s links to %s as before: %w", f.Slug, from, f.Unwrap()))
	}
	if r.More > 0 {
		all = append(all, fmt.Errorf("%d more link to %s as before", r.More, from))
	}
	return errors.Join(all...)
}
