package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/memory/snapshots"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// snapshotTaker returns what the server keeps the agent's memory with: as
// engramctl snapshot create does, but for nothing new when nothing changed.
func snapshotTaker(env *cliutil.Env, c *client.Client, f *snapshotFlags) func(context.Context, string) (session.Snapshot, error) {
	return func(ctx context.Context, label string) (out session.Snapshot, err error) {
		p, err := party{}.with(c.Identity())
		if err != nil {
			return out, err
		}
		how, err := (&app{env}).bundleOptions(p, createOptions{label: label})
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
		err = (&app{env}).withLock(ctx, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error {
			info, same, err := lock.Unchanged(captured.Root(), time.Now())
			if err == nil && !same {
				info, err = (&app{env}).keep(ctx, lock, captured, how)
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
