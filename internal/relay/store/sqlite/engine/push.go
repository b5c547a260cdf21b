package engine

import (
	"context"

	"engramd/internal/relay/store"
)

// Push queues a member for the writer and returns without waiting for the
// commit; it blocks while the queue is full. Whose turn it is, is decided by
// share (share.From of ctx): what the same connection pushed one after the other
// is applied in that order and may share a transaction.
//
// The error is ctx's when it ended before there was room, ErrClosed after Close,
// ErrReadOnly; once a member is queued, its outcome comes through Wait whatever
// becomes of ctx.
func (db *DB) Push(ctx context.Context, m *Member) error { return db.queue.push(ctx, m) }

// Do runs work on the writer's goroutine, outside of a transaction, when it is
// its turn, and waits for it.
func (db *DB) Do(ctx context.Context, work func() error) error {
	m := &Member{alone: work, done: make(chan struct{})}
	if err := db.queue.push(ctx, m); err != nil {
		return err
	}
	return m.Wait().Err
}

// DoLater is Do without waiting: done is called with what work returned, on the
// writer's goroutine. The error is that of Push.
func (db *DB) DoLater(ctx context.Context, work func() error, done func(error)) error {
	m := &Member{alone: work, done: make(chan struct{})}
	m.Tell(func(r store.Result) { done(r.Err) })
	return db.queue.push(ctx, m)
}

// Apart is Do in a transaction of its own.
func (db *DB) Apart(ctx context.Context, work func(w *Writer) error) error {
	return db.Do(ctx, func() error {
		_, err := db.writer.Step(func() (bool, error) { return false, work(db.writer) })
		return err
	})
}

// QueueLen reports how many members wait for the writer.
func (db *DB) QueueLen() int { return db.queue.len() }
