package engine

import (
	"context"
	"errors"
	"math"
	"sync/atomic"

	"engramd/internal/relay/store/sqlite/engine/steps"
)

// What the tests of the packages above must see or break.

// Steps, for tests, is what a read takes in steps, looked at as often as given:
// the same each time.
func Steps(ctx context.Context, db *DB, every int, fn func(ctx context.Context, c *Conn) error) (steps float64, err error) {
	const most = 1e12
	err = db.lend(ctx, &Loan{How: Scan, Grace: math.Inf(1)}, func(ctx context.Context, c *Conn) error {
		c.watch.Close()
		defer func() {
			c.watch.Close()
			err = errors.Join(err, watched(c, stepsAtOnce))
		}()
		if err := watched(c, every); err != nil {
			return err
		}
		c.pace.left = most
		defer func() { steps = most - c.pace.left }()
		return InSnapshot(fn)(ctx, c)
	})
	return steps, err
}

// WatchWrites, for tests, adds to sum the steps that writes take. Nothing must be
// written while it is called.
func WatchWrites(db *DB, sum *atomic.Int64) (err error) {
	db.writer.c.watch, err = steps.New(db.writer.c.db, 1, math.MaxInt64, func(n int64) bool {
		sum.Add(n)
		return true
	})
	return err
}

// BreakCommits, for tests, makes every COMMIT fail until allow is called.
func BreakCommits(db *DB) (allow func()) {
	var broken atomic.Bool
	db.writer.c.db.RegisterCommitHook(func() int {
		if broken.Load() {
			return 1
		}
		return 0
	})
	broken.Store(true)
	return func() { broken.Store(false) }
}
