package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/snapshot"
)

func (a *app) snapshotPinCommand(f *snapshotFlags, pinned bool) *cobra.Command {
	use, short, long := "pin", "Keep a snapshot whatever its age", "Exempt a snapshot from gc, which does not count it either."
	if !pinned {
		use, short, long = "unpin", "Let gc have a snapshot again", "Let gc delete a snapshot again when its turn comes."
	}
	return a.snapshotByID(f, &cobra.Command{Use: use, Short: short, Long: long},
		func(lock *snapshot.Lock, id string) error { return lock.Pin(id, pinned) })
}

func (a *app) snapshotDeleteCommand(f *snapshotFlags) *cobra.Command {
	return a.snapshotByID(f, &cobra.Command{
		Use:   "delete",
		Short: "Delete a snapshot",
		Long:  `Delete a snapshot, but never the last verified one, nor one that others rest on.`,
	}, func(lock *snapshot.Lock, id string) error {
		if err := lock.Delete(id); err != nil {
			return err
		}
		return a.print("%s  deleted\n", id)
	})
}

// snapshotByID makes a command that does something to one snapshot of the agent, under
// the lock. The rest of its usage, and an example, are added.
func (a *app) snapshotByID(f *snapshotFlags, c *cobra.Command, do func(lock *snapshot.Lock, id string) error) *cobra.Command {
	var id string
	c.Example = `  engramctl snapshot ` + c.Use + ` --id 20261120T235100Z-0123456789abcdef`
	c.Use += " --id ID"
	c.Args = cobra.NoArgs
	c = a.command(c, func(ctx context.Context, _ []string) error {
		if err := needID(id); err != nil {
			return err
		}
		p, err := a.party(ctx, false)
		if err != nil {
			return err
		}
		return a.withLock(ctx, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error { return do(lock, id) })
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
