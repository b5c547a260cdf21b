package main

import (
	"context"
	"fmt"
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
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:   "log SLUG [--json]",
		Short: "Show the kept versions of a memory",
		Long: `Show the versions of a memory that the relays keep, newest first: time, id, size,
and "*" at the current one. How many are kept is each relay's decision; a relay
without history shows its current version only. mem get --at prints one of them,
mem restore --at writes it anew.`,
		Example: `  engramctl mem log notes
  engramctl mem log notes --json | jq '.versions[1].id'`,
		Args: arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := slugArgument(args[0])
		if err != nil {
			return err
		}
		return a.withMemory(ctx, func(ctx context.Context, m *client.Memory) error {
			versions, status, err := m.Log(ctx, slug)
			if err := a.report(status, err); err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(struct {
					answerOut
					Slug     string       `json:"slug"`
					Versions []versionOut `json:"versions"`
				}{answerOf(m, status), string(slug), versionsOut(versions)})
			}
			return a.printVersions(versions)
		})
	})
	jsonFlag(c, &asJSON)
	return c
}

func versionsOut(versions []client.Version) []versionOut {
	out := []versionOut{}
	for _, v := range versions {
		out = append(out, versionOut{entryFor(v.Entry), v.Head, v.Relays, errorText(v.Err)})
	}
	return out
}

func (a *app) printVersions(versions []client.Version) error {
	w := tabwriter.NewWriter(a.out(), 0, 0, 2, ' ', 0)
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
	return w.Flush()
}
