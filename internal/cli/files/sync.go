package files

import (
	"context"
	"errors"
	"time"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/memory/folder"
)

// How sync --watch waits.
const (
	watchQuiet = 300 * time.Millisecond // after a change, for those that belong to it
	watchMost  = 3 * time.Second        // for them at most
	watchEvery = 5 * time.Minute        // between two looks if nothing is heard of
)

// Sync makes a folder and the memory alike, once or from now on.
func Sync(ctx context.Context, env *cliutil.Env, dir string, f Options, watch bool) error {
	if !watch {
		return runFolder(ctx, env, folder.Sync, dir, f)
	}
	if f.DryRun || f.AsJSON {
		return exit.Usagef("--watch goes with neither --dry-run nor --json")
	}
	return withFolder(ctx, env, folder.Sync, dir, f, func(ctx context.Context, r *folderRun) error {
		if r.out.DryRun {
			return exit.Usagef("the first run with %s only shows what it would do: see what that is with engramctl sync %[1]s, or give --yes", dir)
		}
		r.warn()
		return r.watch(ctx)
	})
}

// watch syncs whenever something changes, until the context ends.
func (r *folderRun) watch(ctx context.Context) error {
	came := make(chan struct{}, 1)
	tell := func() {
		select {
		case came <- struct{}{}:
		default: // it is told already
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	wait, err := folder.Watch(ctx, r.Path(r.dir), tell)
	if err != nil {
		cancel()
		return exit.Usagef("%s cannot be watched: %w", r.dir, err)
	}
	defer wait()
	defer cancel()
	if err := r.copy.CatchUp(ctx, 0); err != nil {
		return err
	}
	r.copy.Tell(tell)
	r.copy.KeepCurrent(ctx, nil)
	r.Note("watching %s; an interrupt ends it", r.dir)
	for {
		r.quiet = true
		err := r.once(ctx)
		if errors.Is(err, folder.ErrState) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			r.Note("%v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-came:
			if !folder.Settle(ctx, came, watchQuiet, watchMost, time.After) {
				return nil
			}
		case <-time.After(watchEvery):
		}
	}
}
