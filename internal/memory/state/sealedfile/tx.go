package sealedfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// The write-ahead log is taken into the file when it is larger than this, by a
// writer that waits for readers as long as it must if it is larger than that. Who
// closes the file leaves a smaller one: taking it in costs three syncs, and the next
// process begins one anew with two; reading it costs that process a millisecond.
const (
	logRestBytes = 512 << 10
	logBytes     = 1 << 20
	logMostBytes = 16 << 20
)

// Tx is a transaction: what it reads does not change under it. Its first error
// ends it.
type Tx struct {
	c   *conn
	err error
}

// Read runs a function on a consistent view of the file.
func (f *File) Read(ctx context.Context, do func(*Tx) error) error {
	return f.run(ctx, "BEGIN", do)
}

// Write runs a function alone among all writers of all processes, and keeps what
// it wrote if it returns nil. Once Write has returned nil, it is kept.
func (f *File) Write(ctx context.Context, do func(*Tx) error) error {
	select {
	case <-f.writing:
	case <-f.ended:
		return fmt.Errorf("%s: %w", f.o.What, ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", f.o.What, ctx.Err())
	}
	defer func() { f.writing <- struct{}{} }()
	return f.run(ctx, "BEGIN IMMEDIATE", do)
}

func (f *File) run(ctx context.Context, begin string, do func(*Tx) error) error {
	select {
	case <-f.places:
	case <-f.ended:
		return fmt.Errorf("%s: %w", f.o.What, ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", f.o.What, ctx.Err())
	}
	defer func() { f.places <- struct{}{} }()
	c, err := f.take(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", f.o.What, err)
	}
	healthy := false
	defer func() { f.give(c, healthy) }()
	err = c.transact(ctx, begin, do, func() error {
		if !f.here(c) {
			return ErrMoved
		}
		return nil
	})
	healthy = c.db.GetAutocommit() && !errors.Is(err, ErrMoved) && !errors.Is(err, ErrDamaged)
	if err != nil {
		return fmt.Errorf("%s: %w", f.o.What, err)
	}
	if begin != "BEGIN" && !f.inMemory() {
		c.shorten(f.path, logBytes)
	}
	return nil
}

// take gives an idle connection or a new one.
func (f *File) take(ctx context.Context) (c *conn, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.idle)
	switch {
	case f.closed:
		return nil, ErrClosed
	case n > 0:
		c, f.idle = f.idle[n-1], f.idle[:n-1]
	case !f.same():
		return nil, ErrMoved
	case f.inMemory(): // what was there went with the connection
		c, err = f.begin(ctx)
	default:
		if c, err = f.dial(ctx); err == nil {
			if err = c.summed(); err != nil {
				c.close()
			}
		}
	}
	if err != nil {
		return nil, err
	}
	c.round = f.round
	return c, nil
}

// give takes a connection back, and closes one that is not to be used again.
func (f *File) give(c *conn, healthy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if healthy && c.round == f.round {
		f.idle = append(f.idle, c)
		return
	}
	c.close()
}

// here reports whether the file of a connection is still in its place.
func (f *File) here(c *conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return c.round == f.round && f.same()
}

// transact runs do in a transaction; guard is asked once it has begun.
func (c *conn) transact(ctx context.Context, begin string, do func(*Tx) error, guard func() error) (err error) {
	c.db.SetInterrupt(ctx)
	defer c.db.SetInterrupt(context.Background())
	if err := c.exec(begin); err != nil {
		return err
	}
	defer func() {
		if !c.db.GetAutocommit() { // a failure, or a panic that passes through
			c.db.SetInterrupt(context.Background())
			err = errors.Join(err, c.exec("ROLLBACK"))
		}
	}()
	if err := guard(); err != nil {
		return err
	}
	tx := &Tx{c: c}
	tx.Fail(do(tx))
	if tx.err != nil {
		return tx.err
	}
	return c.exec("COMMIT")
}

// Settle takes the log into the file, for who looks at that alone.
func (f *File) Settle(ctx context.Context) error {
	return f.run(ctx, "BEGIN", func(tx *Tx) error {
		if err := tx.c.exec("COMMIT"); err != nil { // none is taken in within a transaction
			return err
		}
		_, _, err := tx.c.db.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
		return errors.Join(err, tx.c.exec("BEGIN"))
	})
}

// shorten keeps the write-ahead log small. That it does not succeed is no
// failure of the write: the next one tries again.
func (c *conn) shorten(path string, most int64) {
	info, err := os.Stat(path + "-wal")
	if err != nil || info.Size() <= most {
		return
	}
	wait := 50 * time.Millisecond
	if info.Size() > logMostBytes {
		wait = busyTimeout
	}
	_ = c.db.BusyTimeout(wait)
	_, _, _ = c.db.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	_ = c.db.BusyTimeout(busyTimeout)
}
