package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/folder"
	"engramd/internal/memory/snapshots"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

func newShow(env *cliutil.Env, f *Options) *cobra.Command {
	var id string
	c := env.Command(&cobra.Command{
		Use:   "show ID|FILE [SLUG] [--decrypt-identity FILE] [--json]",
		Short: "Show one record of a snapshot",
		Long: `Show one record of a snapshot: with the agent's or an owner's key its text, else its
event. SLUG may also be 8 or more digits of its d tag or of its id, which is the only
way without a key. Without SLUG, list the records that the snapshot has. The snapshot
is verified first; no relay is asked. With a key the list says on stderr as of which
number of each writer's log nothing is left out.`,
		Example: `  engramctl snapshot show 20261120T235100Z-0123456789abcdef
  engramctl snapshot show 20261120T235100Z-0123456789abcdef notes`,
		Args: cobra.ArbitraryArgs,
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
		return showRecord(ctx, env, f, name, record)
	})
	idFlag(c, &id)
	IdentityFlag(c, f)
	return c
}

func showRecord(ctx context.Context, env *cliutil.Env, f *Options, name, record string) error {
	store, p, err := at(ctx, env, f, false)
	if err != nil {
		return err
	}
	b, err := openBundle(ctx, env, store, f, p, name)
	if err != nil {
		return err
	}
	heads, err := snapshot.ReadHeads(ctx, b, p.agent, p.keys)
	if err != nil {
		return err
	}
	if record == "" {
		return showRecords(ctx, env, p, b, heads.Sorted())
	}
	head, err := heads.Named(record)
	if err != nil {
		return err
	}
	shown, err := snapshot.Show(ctx, b, p.agent, p.keys, head)
	switch {
	case err != nil:
		return err
	case env.Flags.JSON:
		return env.PrintJSON(shown)
	case shown.Text != nil:
		return env.PrintText(*shown.Text)
	}
	return env.Print("%s\n", shown.Event)
}

// showRecords lists the records of a bundle, and says as of which number of each
// log nothing is left out.
func showRecords(ctx context.Context, env *cliutil.Env, p party, b *bundle.Bundle, records []snapshot.Head) error {
	var said *bundle.Check
	if p.keys != nil {
		logs, err := snapshot.ReadLogs(ctx, b, p.agent, p.keys, "the snapshot")
		if err != nil {
			return err
		}
		c := logsOf(b.Report, logs)
		said = &c
	}
	if env.Flags.JSON {
		return env.PrintJSON(struct {
			ID      string          `json:"id"`
			Records []snapshot.Head `json:"records"`
			Logs    *bundle.Check   `json:"logs,omitempty"` // left out without a key
		}{b.ID, records, said})
	}
	if said != nil {
		env.Note("logs: %s: %s", said.State, said.Reason)
	}
	return snapshot.WriteHeads(env.Out(), records)
}

// Taker returns what the server keeps the agent's memory with: as
// engramctl snapshot create does, but for nothing new when nothing changed.
func Taker(env *cliutil.Env, s *session.Session, f *Options) func(context.Context, string) (session.Snapshot, error) {
	return func(ctx context.Context, label string) (out session.Snapshot, err error) {
		p, err := party{}.with(s.Client.Identity())
		if err != nil {
			return out, err
		}
		how, err := bundleOptions(env, p, createOptions{label: label})
		if err != nil {
			return out, err
		}
		captured, err := snapshots.Take(ctx, s.Client, snapshots.Wanted{Agent: p.agent, Whole: true}, time.Now)
		if captured != nil {
			out.Status = captured.Status
		}
		if err != nil {
			return out, err
		}
		out.Status = s.Memory.Besides(ctx, captured.Heads(), out.Status)
		err = withLock(ctx, env, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error {
			info, same, err := lock.Unchanged(captured.Root(), time.Now())
			if err == nil && !same {
				info, err = keep(ctx, env, lock, captured, how)
			}
			out.ID, out.Size, out.CreatedAt, out.Unchanged, out.Memories = info.ID, info.Size, info.CreatedAt.Unix(), same, len(captured.Heads())
			return err
		})
		switch {
		case errors.Is(err, bundle.ErrEmpty) && out.Status.Behind > 0:
			err = client.ErrBehind
		case errors.Is(err, bundle.ErrEmpty):
			err = session.ErrNothing
		case errors.Is(err, snapshot.ErrHeld):
			err = fmt.Errorf("%w: %w", session.ErrInUse, err)
		}
		return out, err
	}
}

// Before makes a snapshot where snapshot create makes them.
func Before(ctx context.Context, env *cliutil.Env, c *client.Client) (id string, err error) {
	p, err := party{}.with(c.Identity())
	if err != nil {
		return "", err
	}
	f := &Options{Tenant: bundle.DefaultTenant, LockTimeout: env.Flags.Timeout}
	err = withLock(ctx, env, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error {
		how, err := bundleOptions(env, p, createOptions{label: "before a folder was first imported"})
		if err != nil {
			return err
		}
		captured, err := snapshots.Take(ctx, c, snapshots.Wanted{Agent: p.agent, Whole: true}, time.Now)
		if err != nil {
			return err
		}
		info, err := keep(ctx, env, lock, captured, how)
		if errors.Is(err, bundle.ErrEmpty) {
			info.ID, err = folder.NoSnapshot, nil
		}
		id = info.ID
		return err
	})
	return id, err
}
