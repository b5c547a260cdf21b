package mem

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/memory"
)

// versionOut is one line of `mem log --json`.
type versionOut struct {
	cliutil.EntryOut
	Current bool     `json:"current"`
	On      []string `json:"on"` // the relays that have it
	Error   string   `json:"error,omitempty"`
}

func memLogCommand(env *cliutil.Env) *cobra.Command {
	var asJSON, texts bool
	c := env.Command(&cobra.Command{
		Use:   "log SLUG [--text] [--json]",
		Short: "Show the kept versions of a memory",
		Long: `Show the versions of a memory that the relays keep, newest first: time, id, size,
and "*" at the current one. How many are kept is each relay's decision; a relay
without history shows its current version only, and one whose history cannot be
had makes the answer partial. mem get --at prints one of them, mem diff shows how
two differ, mem restore --at writes one anew.

With --text, what each version says stands below it, indented.`,
		Example: `  engramctl mem log notes
  engramctl mem log notes --text
  engramctl mem log notes --json | jq '.versions[1].id'`,
		Args: cliutil.Arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := cliutil.SlugArgument(args[0])
		if err != nil {
			return err
		}
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			versions, status, err := m.Log(ctx, slug)
			if err := env.Report(status, cliutil.About(slug, client.Entry{}, err)); err != nil {
				return cliutil.FirstOf(printAbsent(env, asJSON, m, slug, client.Entry{}, status, err), err)
			}
			if asJSON {
				return env.PrintJSON(struct {
					cliutil.AnswerOut
					Slug     string       `json:"slug"`
					Versions []versionOut `json:"versions"`
				}{cliutil.AnswerOf(m, status), string(slug), versionsOut(versions, texts)})
			}
			return printVersions(env, versions, texts)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
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
		out = append(out, versionOut{entry, v.Head, v.Relays, cliutil.ErrorText(v.Err)})
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
