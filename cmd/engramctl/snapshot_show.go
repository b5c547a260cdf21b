package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/snapshot"
)

func (a *app) snapshotShowCommand(f *snapshotFlags) *cobra.Command {
	var id string
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:   "show ID|FILE [SLUG] [--decrypt-identity FILE] [--json]",
		Short: "Show one record of a snapshot",
		Long: `Show one record of a snapshot: with the agent's or an owner's key its text, else its
event. SLUG may also be 8 or more digits of its d tag or of its id, which is the only
way without a key. Without SLUG, list the records that the snapshot has, and say on
stderr how far each writer's log is complete in it. The snapshot is verified first; no
relay is asked.`,
		Example: `  engramctl snapshot show 20261120T235100Z-0123456789abcdef
  engramctl snapshot show 20261120T235100Z-0123456789abcdef notes`,
	}, func(ctx context.Context, args []string) error {
		name := id
		if name == "" && len(args) > 0 {
			name, args = args[0], args[1:]
		}
		if name == "" {
			return usagef("which snapshot? Give its id, or a file")
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
	jsonFlag(c, &asJSON)
	return c
}

func (a *app) showRecord(ctx context.Context, f *snapshotFlags, p party, name, record string, asJSON bool) error {
	store, err := a.snapshotStore(f)
	if err != nil {
		return err
	}
	var logs snapshot.Logs
	b, err := a.openBundle(ctx, store, f, p, name, logs.Add)
	if err != nil {
		return err
	}
	heads, err := snapshot.ReadHeads(ctx, b, p.agent, p.keys)
	if err != nil {
		return err
	}
	switch {
	case record == "" && asJSON:
		return a.printJSON(struct {
			ID      string          `json:"id"`
			Records []snapshot.Head `json:"records"`
			Logs    []snapshot.Log  `json:"logs"`
		}{b.ID, heads.Sorted(), logs.Judge()})
	case record == "":
		return firstOf(snapshot.WriteHeads(a.out(), heads.Sorted()), snapshot.WriteLogs(a.err(), logs.Judge()))
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
		return a.printJSON(shown)
	case shown.Text != nil:
		return a.printText(*shown.Text)
	}
	return a.print("%s\n", shown.Event)
}
