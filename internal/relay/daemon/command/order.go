package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/wiring"
)

// order does what writes to the database: by the daemon that holds the folder,
// whose answer is read into result, or here, where nobody else has the database
// open.
func order(ctx context.Context, cfg *config.Config, command string, args, result any, here func(*wiring.Database) error) (err error) {
	return orderAndHear(ctx, cfg, command, args, result, nil, here)
}

// orderAndHear is order; hear gets what a daemon tells while it is at it.
func orderAndHear(ctx context.Context, cfg *config.Config, command string, args, result any, hear func(json.RawMessage), here func(*wiring.Database) error) (err error) {
	if err := wiring.PrepareFolder(cfg.Data); err != nil {
		return err
	}
	lock, err := wiring.LockFolder(cfg.Data)
	if errors.Is(err, wiring.ErrFolderInUse) {
		answer, failed := control.AskAndHear(ctx, cfg.Data, command, args, hear)
		if unreachable := new(control.UnreachableError); errors.As(failed, &unreachable) {
			return fmt.Errorf("%w: %w", err, failed)
		}
		if failed != nil || answer == nil {
			return failed
		}
		return json.Unmarshal(answer, result)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	s, err := openAlone(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(here(s), s.Close())
}
