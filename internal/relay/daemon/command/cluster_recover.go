package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/platform/journal"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/ingest"
	"engramd/internal/relay/store/sqlite/engine"
)

// recover brings a halted node back. Where no node works, the cluster begins again from
// this one; where others work, this one joins them. What only some database has is
// written down first, and imported. Until all is done the folder says that its node has
// halted: killed anywhere, this is run again.
func (c *clusterCommand) recover(ctx context.Context) error {
	halt, err := membership.ReadHalt(c.cfg.Data)
	if err != nil {
		return err
	}
	patience := soonTime
	if halt == nil || !halt.Joined {
		err := c.borrow(ctx, func(by bool) error {
			if by {
				patience = startTime
			}
			return c.begunOrJoined(ctx, halt)
		})
		if err != nil {
			return err
		}
	}
	return c.importJoined(ctx, patience)
}

// borrow does work while nobody else has the data folder: a halted node lends it, and
// starts again at the end of it. One that looks at the log once more is waited for.
func (c *clusterCommand) borrow(ctx context.Context, work func(lent bool) error) error {
	if err := engine.PrepareDir(c.cfg.Data); err != nil {
		return err
	}
	for began := time.Now(); ; {
		lock, err := engine.Lock(c.cfg.Data)
		if err == nil {
			return finished(c.cfg.Data, lock, func() error { return work(false) })
		}
		if !errors.Is(err, engine.ErrLocked) {
			return err
		}
		failed := c.lent(ctx, func() error { return work(true) })
		if unreachable := new(control.UnreachableError); !errors.As(failed, &unreachable) {
			return failed
		} else if time.Since(began) > soonTime {
			return fmt.Errorf("%w: %w", err, failed)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(startEvery):
		}
	}
}

// lent does work while a halted node lends the folder.
func (c *clusterCommand) lent(ctx context.Context, work func() error) error {
	asking, hangUp := context.WithCancel(ctx)
	defer hangUp()
	free, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := control.Ask(asking, c.cfg.Data, orders.Recover, nil, func(json.RawMessage) { free <- struct{}{} })
		ended <- err
	}()
	select {
	case <-free:
	case err := <-ended:
		return err
	}
	lock, err := engine.Lock(c.cfg.Data)
	if err != nil {
		return err
	}
	return finished(c.cfg.Data, lock, work)
}

// finished does work under a lock, after what an interrupted one left is finished.
func finished(dir string, lock *engine.DirLock, work func() error) error {
	_, err := journal.Finish(dir, membership.Recovering)
	if err == nil {
		err = work()
	}
	return errors.Join(err, lock.Unlock())
}

// How long a node may take until it imports: one that was halted, and one that may not
// run at all; and how often it is asked.
const (
	startTime  = 10 * time.Minute
	soonTime   = 30 * time.Second
	startEvery = 200 * time.Millisecond
)

// importJoined imports what only this node had through itself, now that it is a node of
// the others again, whose clients then see it too.
func (c *clusterCommand) importJoined(ctx context.Context, patience time.Duration) error {
	halt, err := membership.ReadHalt(c.cfg.Data)
	if err != nil || halt == nil || !halt.Joined {
		return err
	}
	for _, path := range halt.Import {
		t, err := c.importThrough(ctx, path, patience)
		if err != nil {
			return fmt.Errorf("%s is not imported: %w; start engramd serve --cluster, and run engramd cluster recover once more", path, err)
		}
		fmt.Fprintf(c.Stdout, "%s: %v\n", path, t)
	}
	return membership.Over(c.cfg.Data)
}

func (c *clusterCommand) importThrough(ctx context.Context, path string, patience time.Duration) (ingest.Tally, error) {
	for began := time.Now(); ; {
		f, err := os.Open(path)
		if err != nil {
			return ingest.Tally{}, err
		}
		t, err := control.Import(ctx, c.cfg.Data, false, f, &printer{out: c.Stderr, every: 2 * time.Second})
		_ = f.Close() // only read
		if err == nil || t.Lines > 0 || time.Since(began) > patience {
			return t, err
		}
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case <-time.After(startEvery):
		}
	}
}

// importBegun imports into a database that stands alone for now, before the cluster
// begins again.
func (c *recovering) importBegun(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	im := &importCommand{base: c.base, in: f}
	t, err := im.importHere(ctx, &printer{out: c.Stderr, every: 2 * time.Second})
	fmt.Fprintf(c.Stdout, "%s: %v\n", filepath.Base(path), t)
	return err
}
