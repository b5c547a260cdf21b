package plans

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/platform/files"
)

const (
	defaultWait = 10 * time.Second
	lockPoll    = 50 * time.Millisecond
)

// locked does something while no other process of this machine carries out a plan.
// It waits that long for another one; the error is ErrBusy then.
func (p *Plans) locked(ctx context.Context, wait time.Duration, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(p.Lock), 0o700); err != nil {
		return fmt.Errorf("lock plans: %w", err)
	}
	f, err := files.OpenNoFollow(p.Lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock plans: %w", err)
	}
	defer f.Close() // which ends the lock
	if err := acquire(ctx, f, wait); err != nil {
		return err
	}
	return do()
}

func (p *Plans) wait() time.Duration {
	if p.Wait == 0 {
		return defaultWait
	}
	return p.Wait
}

func acquire(ctx context.Context, f *os.File, wait time.Duration) error {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := files.TryLock(f)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, files.ErrLocked):
			return fmt.Errorf("lock plans: %w", err)
		case wait <= 0:
			return ErrBusy
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return ErrBusy
		case <-tick.C:
		}
	}
}
