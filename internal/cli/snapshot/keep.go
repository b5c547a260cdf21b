package snapshot

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/snapshot"
)

func newPin(env *cliutil.Env, f *Options, pinned bool) *cobra.Command {
	use, short, long := "pin", "Keep a snapshot whatever its age", "Exempt a snapshot from gc, which does not count it either."
	if !pinned {
		use, short, long = "unpin", "Let gc have a snapshot again", "Let gc delete a snapshot again when its turn comes."
	}
	return snapshotByID(env, f, &cobra.Command{Use: use, Short: short, Long: long},
		func(lock *snapshot.Lock, id string) error {
			if err := lock.Pin(id, pinned); err != nil {
				return err
			}
			return env.Print("%s  %sned\n", id, use)
		})
}

func newDelete(env *cliutil.Env, f *Options) *cobra.Command {
	var force bool
	c := snapshotByID(env, f, &cobra.Command{
		Use:     "delete",
		Aliases: []string{"rm"},
		Short:   "Delete a snapshot",
		Long: `Delete a snapshot, but never the last verified one of the whole memory (without such,
the last of what comes nearest to it), nor one that others rest on; a pinned one only
with --force.`,
	}, func(lock *snapshot.Lock, id string) error {
		if err := lock.Delete(id, snapshot.Deletion{Force: force, Now: time.Now()}); err != nil {
			return err
		}
		return env.Print("%s  deleted\n", id)
	})
	c.Flags().BoolVar(&force, "force", false, "delete it also if it is pinned")
	return c
}

// snapshotByID makes a command that does something to one snapshot of the
// agent, under the lock. The rest of its usage, and an example, are added.
func snapshotByID(env *cliutil.Env, f *Options, c *cobra.Command, do func(lock *snapshot.Lock, id string) error) *cobra.Command {
	var id string
	c.Example = `  engramctl snapshot ` + c.Use + ` 20261120T235100Z-0123456789abcdef`
	c.Use += " ID"
	c.Args = cobra.ArbitraryArgs
	c = env.Command(c, func(ctx context.Context, args []string) error {
		if id == "" && len(args) > 0 {
			id, args = args[0], args[1:]
		}
		if err := cliutil.FirstOf(noMore(args), needID(id)); err != nil {
			return err
		}
		p, err := partyOf(ctx, env, false)
		if err != nil {
			return err
		}
		return withLock(ctx, env, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error { return do(lock, id) })
	})
	idFlag(c, &id)
	return c
}

type gcOptions struct {
	policy snapshot.Policy
	days   int
}

func newGC(env *cliutil.Env, f *Options) *cobra.Command {
	o := gcOptions{policy: snapshot.DefaultPolicy(), days: 90}
	c := env.Command(&cobra.Command{
		Use:   "gc [--keep N] [--keep-automatic N] [--days N] [--json]",
		Short: "Delete old snapshots, and what dead processes left",
		Long: `Delete the oldest snapshots of the agent beyond a number and an age, and what dead
processes left behind. Those of the whole memory, of a part and of nothing are counted
apart, and so are those made automatically. Pinned ones, the last verified one of the
whole memory and those that others rest on stay.

Before anything is deleted the last verified one is read again. If it is another file
than was verified, it is named, listed as damaged, and the one before it stays instead.`,
		Example: `  engramctl snapshot gc --keep 10 --days 365`,
	}, func(ctx context.Context, _ []string) error {
		if o.days < 0 || o.policy.Keep < 0 || o.policy.KeepAutomatic < 0 {
			return exit.Usagef("want 0 (no limit) or more")
		}
		p, err := partyOf(ctx, env, false)
		if err != nil {
			return err
		}
		o.policy.MaxAge = time.Duration(o.days) * 24 * time.Hour
		return withLock(ctx, env, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error {
			swept, err := lock.Sweep(time.Now(), o.policy)
			if err != nil {
				return err
			}
			if env.Flags.JSON {
				return env.PrintJSON(struct {
					Deleted []string `json:"deleted"`
					Damaged []string `json:"damaged"`
					Staging int      `json:"staging_removed"`
					Litter  int      `json:"litter_removed"`
				}{append([]string{}, swept.Deleted...), append([]string{}, swept.Damaged...), swept.Staging, swept.Litter})
			}
			for _, id := range swept.Damaged {
				env.Note("%s is damaged: it, or what it rests on, is another file than was verified; the one before it counts instead", id)
			}
			if err := cliutil.Each(env, swept.Deleted, func(id string) string { return id + "  deleted" }); err != nil {
				return err
			}
			return env.Print("%d deleted, %d left by dead processes removed\n", len(swept.Deleted), swept.Staging+swept.Litter)
		})
	})
	c.Flags().IntVar(&o.policy.Keep, "keep", o.policy.Keep, "how many to keep of each kind; 0 is no limit")
	c.Flags().IntVar(&o.policy.KeepAutomatic, "keep-automatic", o.policy.KeepAutomatic, "how many to keep of those made automatically; 0 is no limit")
	c.Flags().IntVar(&o.days, "days", o.days, "how many days to keep them; 0 is no limit")
	return c
}

func newList(env *cliutil.Env, f *Options) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:     "ls [--json]",
		Aliases: []string{"list"},
		Short:   "List an agent's snapshots, newest first",
		Long: `List an agent's snapshots, newest first: id, number of events, size; what it is (whole;
partial, because some relay did not answer; an owner's part; empty), whether it was
verified or found damaged, and its label. No relay is asked.`,
		Example: `  engramctl snapshot ls --agent npub1… --json`,
	}, func(ctx context.Context, _ []string) error {
		store, p, err := at(ctx, env, f, false)
		if err != nil {
			return err
		}
		list, err := store.List(f.Tenant, p.agent)
		if err != nil {
			return err
		}
		if env.Flags.JSON {
			out := []infoOut{}
			for _, info := range list {
				out = append(out, infoOut{info, info.Path})
			}
			return env.PrintJSON(struct {
				Snapshots []infoOut `json:"snapshots"`
			}{out})
		}
		if len(list) == 0 {
			env.Note("no snapshots of agent %s, tenant %s", p.agent, f.Tenant)
		}
		w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
		for _, info := range list {
			fmt.Fprintf(w, "%s\t%d events\t%d B\t%s\t%s\n", info.ID, info.Events, info.Size, strings.Join(info.Marks(), ","), info.Label)
		}
		return w.Flush()
	})
}
