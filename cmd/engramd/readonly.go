package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"engramd/internal/config"
	"engramd/internal/store"
)

// openBeside opens the database for reading, whether a daemon runs or not.
func openBeside(ctx context.Context, cfg *config.Config) (*store.Store, error) {
	table, err := newTable(cfg)
	if err != nil {
		return nil, err
	}
	live := storeLive(cfg)
	live.QueryTimeout = -1 // the operator waits as long as it takes
	s, err := store.Open(ctx, store.Options{Path: store.File(cfg.Data), Table: table, ReadOnly: true, Live: live})
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no database in %s: give the data folder with --data, or make one with engramd serve", cfg.Data)
	}
	return s, err
}
