package engine

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"

	"engramd/internal/relay/fairness"
)

// What the tests of the packages above must see, hold up or break.

// HoldScans, for tests, takes every turn that is not kept for look-ups until
// release is called.
func HoldScans(db *DB) (release func()) {
	var held []*fairness.Turn
	for range db.readers.n - keptTurns(db.readers.n) {
		turn, err := db.takeTurn(context.Background(), db.readers.turns, Scan)
		if err != nil {
			panic(err)
		}
		held = append(held, turn)
	}
	return func() {
		for _, turn := range held {
			turn.Done()
		}
	}
}

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

// Refusing, for tests, waits until Close has been called.
func Refusing(ctx context.Context, db *DB) error {
	for {
		db.queue.mu.Lock()
		closed, room := db.queue.closed, db.queue.room
		db.queue.mu.Unlock()
		if closed != nil {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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

// HasJob, for tests, reports whether a job will answer a member.
func HasJob(w *Writer, m *Member) bool { return w.jobOf(m) != nil }

// Migrate, for tests, brings the database at path to today's version as Open
// does, with a page cache of so many bytes.
func Migrate(ctx context.Context, path string, cache int64) error {
	c, err := connect(path, writerDSN(), writerPragmas(cache))
	if err != nil {
		return err
	}
	return errors.Join(migrate(ctx, c, path, slog.New(slog.DiscardHandler)), c.Close())
}
