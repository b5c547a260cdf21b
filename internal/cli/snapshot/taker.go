package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/memory/folder"
	"engramd/internal/memory/snapshots"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// Taker returns what the server keeps the agent's memory with: as
// engramctl snapshot create does, but for nothing new when nothing changed.
func Taker(env *cliutil.Env, c *client.Client, f *Options) func(context.Context, string) (session.Snapshot, error) {
	return func(ctx context.Context, label string) (out session.Snapshot, err error) {
		p, err := party{}.with(c.Identity())
		if err != nil {
			return out, err
		}
		how, err := bundleOptions(env, p, createOptions{label: label})
		if err != nil {
			return out, err
		}
		captured, err := snapshots.Take(ctx, c, snapshots.Wanted{Agent: p.agent, Whole: true}, time.Now)
		if captured != nil {
			out.Status = captured.Status
		}
		if err != nil {
			return out, err
		}
		err = withLock(ctx, env, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error {
			info, same, err := lock.Unchanged(captured.Root(), time.Now())
			if err == nil && !same {
				info, err = keep(ctx, env, lock, captured, how)
			}
			out.ID, out.Size, out.CreatedAt, out.Unchanged, out.Memories = info.ID, info.Size, info.CreatedAt.Unix(), same, len(captured.Heads())
			return err
		})
		switch {
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
