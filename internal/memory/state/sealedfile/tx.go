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
// writer that waits for readers as long as it must if it is larger than that.
const (
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
	c, round, err := f.take(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", f.o.What, err)
	}
	healthy := false
	defer func() { f.give(c, round, healthy) }()
	err = c.transact(ctx, begin, do, func() error {
		if !f.here(round) {
			return ErrMoved
		}
		return nil
	})
	healthy = c.db.GetAutocommit() && !errors.Is(err, ErrMoved) && !errors.Is(err, ErrDamaged)
	if err != nil {
		return fmt.Errorf("%s: %w", f.o.What, err)
	}
	if begin != "BEGIN" && !f.inMemory() {
		c.shorten(f.path)
	}
	return nil
}

// take gives an idle connection or a new one.
func (f *File) take(ctx context.Context) (*conn, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, 0, ErrClosed
	}
	if n := len(f.idle); n > 0 {
		c := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return c, f.round, nil
	}
	if !f.same() {
		return nil, 0, ErrMoved
	}
	if f.inMemory() { // what was there went with the connection
		c, err := f.begin(ctx)
		return c, f.round, err
	}
	c, err := f.dial(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := c.summed(); err != nil {
		c.close()
		return nil, 0, err
	}
	return c, f.round, nil
}

// give takes a connection back, and closes one that is not to be used again.
func (f *File) give(c *conn, round int, healthy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if healthy && round == f.round {
		f.idle = append(f.idle, c)
		return
	}
	c.close()
}

// here reports whether the file that was opened in that round is still in its
// place.
func (f *File) here(round int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return round == f.round && f.same()
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

// shorten keeps the write-ahead log small. That it does not succeed is no
// failure of the write: the next one tries again.
func (c *conn) shorten(path string) {
	info, err := os.Stat(path + "-wal")
	if err != nil || info.Size() <= logBytes {
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
