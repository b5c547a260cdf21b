package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/snapshot"
)

func (a *app) snapshotListCommand(f *snapshotFlags) *cobra.Command {
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:     "list [--json]",
		Short:   "List an agent's snapshots, newest first",
		Long:    `List an agent's snapshots, newest first. No relay is asked.`,
		Example: `  engramctl snapshot list --agent npub1… --json`,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		p, err := a.party(ctx, false)
		if err != nil {
			return err
		}
		store, err := a.snapshotStore(f)
		if err != nil {
			return err
		}
		list, err := store.List(f.tenant, p.agent)
		if err != nil {
			return err
		}
		if asJSON {
			out := []infoOut{}
			for _, info := range list {
				out = append(out, infoOut{info, info.Path})
			}
			return a.printJSON(out)
		}
		w := tabwriter.NewWriter(a.out(), 0, 0, 2, ' ', 0)
		for _, info := range list {
			fmt.Fprintf(w, "%s\t%d events\t%d B\t%s\t%s\n", info.ID, info.Events, info.Size, marks(info), info.Label)
		}
		return w.Flush()
	})
	jsonFlag(c, &asJSON)
	return c
}

// marks are what is to be known of a snapshot at a glance.
func marks(info snapshot.Info) string {
	text := "not verified"
	if info.Verified() {
		text = "verified"
	}
	for _, mark := range []struct {
		is   bool
		text string
	}{{info.Encrypted, "encrypted"}, {info.Pinned, "pinned"}, {info.Automatic(), "automatic"}, {info.Parent != "", "incremental"}} {
		if mark.is {
			text += "," + mark.text
		}
	}
	return text
}

func (a *app) snapshotDeleteCommand(f *snapshotFlags) *cobra.Command {
	var id string
	c := a.command(&cobra.Command{
		Use:     "delete --id ID",
		Short:   "Delete a snapshot",
		Long:    `Delete a snapshot, but never the last verified one, nor one that others rest on.`,
		Example: `  engramctl snapshot delete --id 20261120T235100Z-0123456789abcdef`,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		if err := needID(id); err != nil {
			return err
		}
		p, err := a.party(ctx, false)
		if err != nil {
			return err
		}
		return a.withLock(ctx, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error {
			if err := lock.Delete(id); err != nil {
				return err
			}
			return a.print("%s  deleted\n", id)
		})
	})
	c.Flags().StringVar(&id, "id", "", "`id` of the snapshot")
	return c
}

func (a *app) snapshotGCCommand(f *snapshotFlags) *cobra.Command {
	policy, days, asJSON := snapshot.DefaultPolicy(), 90, false
	c := a.command(&cobra.Command{
		Use:   "gc [--keep N] [--keep-automatic N] [--days N] [--json]",
		Short: "Delete old snapshots, and what dead processes left",
		Long: `Delete the oldest snapshots of the agent beyond a number and an age, and what dead
processes left behind. Those made automatically have a count of their own. Pinned
ones, the last verified one and those that others rest on stay.`,
		Example: `  engramctl snapshot gc --keep 10 --days 365`,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		if days < 0 || policy.Keep < 0 || policy.KeepAutomatic < 0 {
			return usagef("want 0 (no limit) or more")
		}
		p, err := a.party(ctx, false)
		if err != nil {
			return err
		}
		policy.MaxAge = time.Duration(days) * 24 * time.Hour
		return a.withLock(ctx, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error {
			swept, err := lock.Sweep(time.Now(), policy)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(struct {
					Deleted []string `json:"deleted"`
					Staging int      `json:"staging_removed"`
					Litter  int      `json:"litter_removed"`
				}{append([]string{}, swept.Deleted...), swept.Staging, swept.Litter})
			}
			for _, id := range swept.Deleted {
				if err := a.print("%s  deleted\n", id); err != nil {
					return err
				}
			}
			return nil
		})
	})
	c.Flags().IntVar(&policy.Keep, "keep", policy.Keep, "how many to keep; 0 is no limit")
	c.Flags().IntVar(&policy.KeepAutomatic, "keep-automatic", policy.KeepAutomatic, "how many to keep of those made automatically; 0 is no limit")
	c.Flags().IntVar(&days, "days", days, "how many days to keep them; 0 is no limit")
	jsonFlag(c, &asJSON)
	return c
}
