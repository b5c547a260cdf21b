package mem

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
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

func diffCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "diff SLUG [FROM [TO]] [--json]",
		Short: "Show how two versions of a memory differ",
		Long: `Show how two versions of a memory differ, line by line. FROM and TO are ids or
times, as with mem get --at. Without TO it is the current version, without FROM the
one before that. A removal counts as an empty text. The output has the form of
diff -u; nothing is printed if the texts are the same.`,
		Example: `  engramctl mem diff notes
  engramctl mem diff notes 2026-01-31
  engramctl mem diff notes 5f1b8e0c9a3d2e44 2c9d01aa5b7e6f10`,
	}, cliutil.OnSlug(cliutil.SlugArgument, func(ctx context.Context, slug nipae.Slug, args []string) error {
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
			return printDiff(env, m, slug, from, to, status)
		})
	}))
}

func printDiff(env *cliutil.Env, m *session.Memory, slug nipae.Slug, from, to client.Entry, status client.Status) error {
	diff := snapshot.Unified(from.Text, to.Text)
	if env.Flags.JSON {
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

// versionOut is one line of `mem log --json`.
type versionOut struct {
	cliutil.EntryOut
	Current bool     `json:"current"`
	On      []string `json:"on"` // the relays that have it; none: this machine alone
	Error   string   `json:"error,omitempty"`
}

func logCommand(env *cliutil.Env) *cobra.Command {
	var texts bool
	c := env.Command(&cobra.Command{
		Use:   "log SLUG [--text] [--json]",
		Short: "Show the kept versions of a memory",
		Long: `Show the versions of a memory that the relays keep, newest first: time, id, size,
and "*" at the current one. How many are kept is each relay's decision; a relay
without history shows its current version only, and one whose history cannot be
had makes the answer partial. A version that this machine knows and no relay shows is
among them, and its line says so. mem get --at prints one of them, mem diff shows how
two differ, mem restore --at writes one anew.

With --text, what each version says stands below it, indented.`,
		Example: `  engramctl mem log notes
  engramctl mem log notes --text
  engramctl mem log notes --json | jq '.versions[1].id'`,
	}, cliutil.OnSlug(cliutil.SlugArgument, func(ctx context.Context, slug nipae.Slug, args []string) error {
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			versions, status, err := m.Log(ctx, slug)
			if err := env.Report(status, cliutil.About(slug, client.Entry{}, err)); err != nil {
				return cliutil.FirstOf(printAbsent(env, m, slug, client.Entry{}, status, err), err)
			}
			if env.Flags.JSON {
				return env.PrintJSON(struct {
					cliutil.AnswerOut
					Slug     string       `json:"slug"`
					Versions []versionOut `json:"versions"`
				}{cliutil.AnswerOf(m, status), string(slug), versionsOut(versions, texts)})
			}
			return printVersions(env, versions, texts)
		})
	}))
	c.Flags().BoolVar(&texts, "text", false, "show the texts too")
	return c
}

func versionsOut(versions []memory.Version, texts bool) []versionOut {
	out := []versionOut{}
	for _, v := range versions {
		entry := cliutil.EntryFor(v.Entry)
		if texts && v.Err == nil && !v.Tombstone {
			entry.Text = &v.Text
		}
		out = append(out, versionOut{entry, v.Head, append([]string{}, v.Relays...), cliutil.ErrorText(v.Err)})
	}
	return out
}

func printVersions(env *cliutil.Env, versions []memory.Version, texts bool) error {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, v := range versions {
		mark, size := " ", fmt.Sprintf("%d B", v.Size)
		switch {
		case v.Err != nil:
			size = "unreadable"
		case v.Tombstone:
			size = "removed"
		}
		if v.Head {
			mark = "*"
		}
		if len(v.Relays) == 0 {
			size += "  no relay has it"
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\n", mark, cliutil.Stamp(v.CreatedAt), v.ID[:cliutil.ShortID], size)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	i := 0
	for line := range strings.Lines(table.String()) {
		if err := env.Print("%s", line); err != nil {
			return err
		}
		if v := versions[i]; texts && v.Err == nil && !v.Tombstone {
			if err := env.Print("%s", cliutil.Indented(v.Text)); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

// writeOut is one line of `log`.
type writeOut struct {
	cliutil.EntryOut
	Current bool   `json:"current"`
	Error   string `json:"error,omitempty"`
}

// NewLog returns engramctl log.
func NewLog(env *cliutil.Env) *cobra.Command {
	var texts bool
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "log [--text]",
		Short: "Print every kept write of a memory, oldest first",
		Long: `Print every write of a memory that the relays still have, oldest first, as one
JSON object a line: time, slug, size, hash and id, "removed" if it deleted the
memory, "current" if nothing replaced it. How many versions are kept is each
relay's decision; one whose history cannot be had makes the answer partial, which
stderr says. A version that cannot be read has an error, and no slug.

mem log shows the versions of one memory, and which relays have them.`,
		Example: `  engramctl log
  engramctl log | jq -r 'select(.removed) | .slug'
  engramctl log --text > everything.jsonl`,
		Args: cliutil.Arguments(),
	}, func(ctx context.Context, _ []string) error {
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			versions, status, err := m.LogAll(ctx)
			if err := env.Report(status, err); err != nil && len(versions) == 0 {
				return err
			}
			if len(versions) == 0 {
				noteNone(ctx, env, m, memory.Listing{}, status, true)
			}
			return cliutil.FirstOf(printWrites(env, versions, texts), err)
		})
	}))
	c.Flags().BoolVar(&texts, "text", false, "print the texts too")
	return c
}

func printWrites(env *cliutil.Env, versions []memory.Version, texts bool) error {
	enc := json.NewEncoder(env.Out())
	enc.SetEscapeHTML(false)
	for _, v := range versions {
		out := writeOut{cliutil.EntryFor(v.Entry), v.Head, cliutil.ErrorText(v.Err)}
		if texts && v.Err == nil && !v.Tombstone {
			out.Text = &v.Text
		}
		if err := enc.Encode(out); err != nil {
			return err
		}
	}
	return nil
}
