package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

// versionOut is one line of `mem log --json`.
type versionOut struct {
	entryOut
	Current bool     `json:"current"`
	On      []string `json:"on"` // the relays that have it
	Error   string   `json:"error,omitempty"`
}

// shortID is how many digits of an id a table shows; 8 or more name a version.
const shortID = 16

func (a *app) memLogCommand() *cobra.Command {
	var asJSON, texts bool
	c := a.command(&cobra.Command{
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
		Args: arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := slugArgument(args[0])
		if err != nil {
			return err
		}
		return a.withMemory(ctx, func(ctx context.Context, m *client.Memory) error {
			versions, status, err := m.Log(ctx, slug)
			if err := a.report(status, about(slug, client.Entry{}, err)); err != nil {
				return firstOf(a.printAbsent(asJSON, m, slug, client.Entry{}, status, err), err)
			}
			if asJSON {
				return a.printJSON(struct {
					answerOut
					Slug     string       `json:"slug"`
					Versions []versionOut `json:"versions"`
				}{answerOf(m, status), string(slug), versionsOut(versions, texts)})
			}
			return a.printVersions(versions, texts)
		})
	})
	jsonFlag(c, &asJSON)
	c.Flags().BoolVar(&texts, "text", false, "show the texts too")
	return c
}

func versionsOut(versions []client.Version, texts bool) []versionOut {
	out := []versionOut{}
	for _, v := range versions {
		entry := entryFor(v.Entry)
		if texts && v.Err == nil && !v.Tombstone {
			entry.Text = &v.Text
		}
		out = append(out, versionOut{entry, v.Head, v.Relays, errorText(v.Err)})
	}
	return out
}

func (a *app) printVersions(versions []client.Version, texts bool) error {
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
		fmt.Fprintf(w, "%s %s\t%s\t%s\n", mark, stamp(v.CreatedAt), v.ID[:shortID], size)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	i := 0
	for line := range strings.Lines(table.String()) {
		if err := a.print("%s", line); err != nil {
			return err
		}
		if v := versions[i]; texts && v.Err == nil && !v.Tombstone {
			if err := a.print("%s", indented(v.Text)); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}
