package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

func (a *app) snapshotShowCommand(f *snapshotFlags) *cobra.Command {
	var id string
	var asJSON bool
	c := a.Command(&cobra.Command{
		Use:   "show ID|FILE [SLUG] [--decrypt-identity FILE] [--json]",
		Short: "Show one record of a snapshot",
		Long: `Show one record of a snapshot: with the agent's or an owner's key its text, else its
event. SLUG may also be 8 or more digits of its d tag or of its id, which is the only
way without a key. Without SLUG, list the records that the snapshot has. The snapshot
is verified first; no relay is asked. With a key the list says on stderr as of which
number of each writer's log nothing is left out.`,
		Example: `  engramctl snapshot show 20261120T235100Z-0123456789abcdef
  engramctl snapshot show 20261120T235100Z-0123456789abcdef notes`,
	}, func(ctx context.Context, args []string) error {
		name := id
		if name == "" && len(args) > 0 {
			name, args = args[0], args[1:]
		}
		if name == "" {
			return exit.Usagef("which snapshot? Give its id, or a file")
		}
		record := ""
		if len(args) > 0 {
			record, args = args[0], args[1:]
		}
		if err := noMore(args); err != nil {
			return err
		}
		p, err := a.party(ctx, false)
		if err != nil {
			return err
		}
		return a.showRecord(ctx, f, p, name, record, asJSON)
	})
	idFlag(c, &id)
	identityFlag(c, f)
	cliutil.JSONFlag(c, &asJSON)
	return c
}

func (a *app) showRecord(ctx context.Context, f *snapshotFlags, p party, name, record string, asJSON bool) error {
	store, err := a.snapshotStore(f)
	if err != nil {
		return err
	}
	b, err := a.openBundle(ctx, store, f, p, name)
	if err != nil {
		return err
	}
	heads, err := snapshot.ReadHeads(ctx, b, p.agent, p.keys)
	if err != nil {
		return err
	}
	if record == "" {
		return a.showRecords(ctx, p, b, heads.Sorted(), asJSON)
	}
	head, err := heads.Named(record)
	if err != nil {
		return err
	}
	shown, err := snapshot.Show(ctx, b, p.agent, p.keys, head)
	switch {
	case err != nil:
		return err
	case asJSON:
		return a.PrintJSON(shown)
	case shown.Text != nil:
		return a.PrintText(*shown.Text)
	}
	return a.Print("%s\n", shown.Event)
}

// showRecords lists the records of a bundle, and says as of which number of each
// log nothing is left out.
func (a *app) showRecords(ctx context.Context, p party, b *bundle.Bundle, records []snapshot.Head, asJSON bool) error {
	var said *bundle.Check
	if p.keys != nil {
		logs, err := snapshot.ReadLogs(ctx, b, p.agent, p.keys, "the snapshot")
		if err != nil {
			return err
		}
		c := logsOf(b.Report, logs)
		said = &c
	}
	if asJSON {
		return a.PrintJSON(struct {
			ID      string          `json:"id"`
			Records []snapshot.Head `json:"records"`
			Logs    *bundle.Check   `json:"logs,omitempty"` // left out without a key
		}{b.ID, records, said})
	}
	if said != nil {
		a.Note("logs: %s: %s", said.State, said.Reason)
	}
	return snapshot.WriteHeads(a.Out(), records)
}
