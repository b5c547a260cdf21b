package sqlite

import (
	"context"
	"errors"
	"log/slog"
)

// Migrate brings the database at path to today's version as Open does, with a
// page cache of so many bytes.
func Migrate(ctx context.Context, path string, cache int64) error {
	c, err := connect(path, writerDSN(), writerPragmas(cache))
	if err != nil {
		return err
	}
	return errors.Join(migrate(ctx, c, path, slog.New(slog.DiscardHandler)), c.Close())
}
