package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// openBeside opens the database for reading, whether a daemon runs or not. One
// of an older version is refused.
func openBeside(ctx context.Context, cfg *config.Config) (*sqlite.Store, error) {
	return openReading(ctx, cfg, func(*sqlite.Options) {})
}

// openAnyVersion does the same, and reads a database of an older version on a
// copy that it brings up to date. It says so on out.
func openAnyVersion(ctx context.Context, cfg *config.Config, out io.Writer) (*sqlite.Store, error) {
	wiring.Private()
	scratch, err := engine.TempDir(cfg.Data)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	s, err := openReading(ctx, cfg, func(o *sqlite.Options) { o.Scratch = scratch })
	if err != nil {
		return nil, err
	}
	if version, older := s.Older(); older {
		latest, err := engine.Latest()
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		fmt.Fprintf(out, "the database is of version %d and stays so: this is read from a copy of it, brought up to version %d as the next start of engramd serve does; that took %.1f s, with the copying\n", version, latest, time.Since(start).Seconds())
	}
	return s, nil
}

func openReading(ctx context.Context, cfg *config.Config, change func(*sqlite.Options)) (*sqlite.Store, error) {
	table, err := wiring.Table(cfg)
	if err != nil {
		return nil, err
	}
	live := wiring.StoreLive(cfg)
	live.QueryTimeout = -1 // the operator waits as long as it takes
	if err := databaseThere(cfg); err != nil {
		return nil, err
	}
	o := sqlite.Options{Options: wiring.Database(cfg.Data), Table: table, Live: live}
	o.ReadOnly = true
	change(&o)
	return sqlite.Open(ctx, o)
}

// databaseThere keeps commands that need a database from making one.
func databaseThere(cfg *config.Config) error {
	_, err := os.Stat(engine.File(cfg.Data))
	if errors.Is(err, os.ErrNotExist) {
		if err := engine.Lost(wiring.Database(cfg.Data)); err != nil {
			return err
		}
		return fmt.Errorf("there is no database in %s: give the data folder with --data, or make one with engramd serve", cfg.Data)
	}
	return err
}

// order does what writes to the database: by the daemon that holds the folder,
// whose answer is read into result and from which hear, if it is not nil, gets what
// it tells while it is at it; or here, where nobody else has the database open.
func order(ctx context.Context, cfg *config.Config, command string, args, result any, hear func(json.RawMessage), here func(*sqlite.Store) error) (err error) {
	if err := engine.PrepareDir(cfg.Data); err != nil {
		return err
	}
	lock, err := engine.Lock(cfg.Data)
	if errors.Is(err, engine.ErrLocked) {
		answer, failed := control.Ask(ctx, cfg.Data, command, args, hear)
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
	s, err := openAlone(ctx, cfg, "")
	if err != nil {
		return err
	}
	return errors.Join(here(s), s.Close())
}
