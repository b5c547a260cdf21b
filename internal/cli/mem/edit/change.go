package edit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

func linkCommand(env *cliutil.Env) *cobra.Command {
	var o struct {
		remove bool
		base   string
		e      write.Edge
	}
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
		ValidArgsFunction: relations,
	}, func(ctx context.Context, args []string) (err error) {
		if o.e.From, err = cliutil.OwnSlug(args[0]); err != nil {
			return err
		}
		if o.e.To, err = cliutil.SlugArgument(args[2]); err != nil {
			return err
		}
		if err := cliutil.CheckHash(o.base); err != nil {
			return err
		}
		o.e.Relation = args[1]
		return writeOne(ctx, env, o.e.From, func(ctx context.Context, m *session.Memory) (client.Entry, client.Status, error) {
			do := m.Writer(ctx).Relate
			if o.remove {
				do = m.Writer(ctx).Unrelate
			}
			r, err := do(ctx, o.e, memory.SetOptions{Base: o.base, Whole: env.Flags.Strict})
			return r.Entry, r.Status, err
		})
	})
	cliutil.BaseFlag(c, &o.base)
	c.Flags().Float64Var(&o.e.Strength, "strength", 1, "how strong it is, a `NUMBER` above 0, at most 1")
	c.Flags().BoolVar(&o.remove, "remove", false, "take the relation away")
	return c
}

// relations completes the second argument.
func relations(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return frontmatter.Relations, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// marked is one of pin, unpin, archive and unarchive.
type marked struct {
	mark                 write.Mark
	short, long, example string
}

var marks = []marked{
	{write.Pin, "Keep a memory from ever being archived", `Keep a memory from ever being archived: pin: true in its front matter. No other byte of
it changes, and a memory that is pinned already is left.`, "projects/atlas"},
	{write.Unpin, "Let a memory be archived again", "Let a memory be archived again: mem pin taken back, byte for byte.", "projects/atlas"},
	{write.Archive, "Have a memory recalled no more, and keep it", `Have a memory recalled no more, and keep it: state: archived in its front matter. No
other byte of it changes; text and history stay, mem get and mem search --state archived
find it, mem ls --archived lists it, and mem unarchive brings it back.

The core, the narrative, intentions that are not done and what is pinned are not
archived (exit code 2). Nor is a correction while what it corrects is active, which would
be found in its place: archive that first. Local copies are asked for it; where this
machine has none, stderr names what the memory supersedes and is active.`, "journal/2024/05/minutes"},
	{write.Unarchive, "Have an archived memory recalled again", `Have an archived memory recalled again: mem archive taken back, byte for byte. One that
is active is left; one that is superseded or done is not archived (exit code 2).`, "journal/2024/05/minutes"},
}

func markCommand(env *cliutil.Env, m marked) *cobra.Command {
	var base string
	c := env.Command(&cobra.Command{
		Use:     string(m.mark) + " SLUG [--base HASH] [--json]",
		Short:   m.short,
		Long:    m.long,
		Example: "  engramctl mem " + string(m.mark) + " " + m.example,
	}, cliutil.OnSlug(cliutil.OwnSlug, func(ctx context.Context, slug nipae.Slug, args []string) error {
		if err := cliutil.CheckHash(base); err != nil {
			return err
		}
		return writeOne(ctx, env, slug, func(ctx context.Context, to *session.Memory) (client.Entry, client.Status, error) {
			r, err := to.Writer(ctx).Mark(ctx, slug, m.mark, memory.SetOptions{Base: base, Whole: env.Flags.Strict})
			return r.Entry, r.Status, err
		})
	}))
	cliutil.BaseFlag(c, &base)
	return c
}

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

func mvCommand(env *cliutil.Env) *cobra.Command {
	var mend bool
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
			if err := printRenamed(env, m, from, r); err != nil {
				return err
			}
			return unfinished(env, from, r)
		})
	})
	c.Flags().BoolVar(&mend, "mend-links", false, "change the links of other memories too")
	return c
}

func printRenamed(env *cliutil.Env, m *session.Memory, from nipae.Slug, r write.Renamed) error {
	if !env.Flags.JSON {
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
