package engine

import (
	"context"
	"errors"
	"math"
	"time"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
)

// Read lends fn a read-only connection. Each statement fn runs is a read
// Transaction of its own; for several that must see one state, use
// Snapshot.
// Readers take turns, by share (the context says whose, see fairness.From), and a
// statement that takes long stops in the middle while it is others' turn. What
// all of it may take is bounded in work, which Options.QueryTimeout names as the
// time that it takes when nobody else reads. The error is ErrTimeout for more
// work than that or when parent's deadline passed, parent's own when the caller
// went away, ErrEnded for a read that was in others' way, ErrClosed after
// Close, else fn's own. fn must not keep the connection nor wait for anything
// but the database.
func (db *DB) Read(parent context.Context, how Effort, fn func(ctx context.Context, c *Conn) error) error {
	return db.Lend(parent, &Loan{How: how, Grace: longGrace}, fn)
}

// Loan is what a read may take. It may be lent by several times.
type Loan struct {
	How   Effort
	Grace float64 // steps before it can be ended in favour of who wants to begin
	left  float64 // steps it may do, counted down; 0 is what the options allow
	used  float64 // what it was charged for
}

// Loan is that of a read which goes on later where it was ended.
func (db *DB) Loan(how Effort) Loan { return Loan{How: how, Grace: db.readers.pacing.Grace} }

// Took is what the reads were charged for, as time.
func (l *Loan) Took() time.Duration {
	return time.Duration(l.used / stepsPerSecond * float64(time.Second))
}

// Lend is Read by a loan, which says afterwards what is left of it.
func (db *DB) Lend(ctx context.Context, l *Loan, fn func(ctx context.Context, c *Conn) error) error {
	return readError(ctx, ctx, db.lend(ctx, l, fn))
}

// lend lends fn a connection for as long as ctx lasts.
func (db *DB) lend(ctx context.Context, l *Loan, fn func(ctx context.Context, c *Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-db.closing:
		return store.ErrClosed
	default:
	}
	turn, err := db.takeTurn(ctx, db.readers.turns, l.How)
	if err != nil {
		return err
	}
	defer turn.Done()
	turn.Grace(l.Grace)
	c, err := db.readers.get()
	if err != nil {
		return err
	}
	if d := db.o.Timeout(); l.left == 0 {
		if l.left = math.Inf(1); d > 0 {
			l.left = d.Seconds() * stepsPerSecond
		}
	}
	p := &pace{ctx: ctx, turn: turn, ends: db.closing, slice: db.readers.pacing.Slice, left: l.left, sum: db.readers.pacing.Sum}
	c.pace = p
	c.watch.Reset()
	p.begin()
	defer func() {
		p.end()
		l.left, l.used = p.left, l.used+p.used
		c.pace = nil
		db.readers.put(c)
	}()
	if err = fn(ctx, c); err != nil && p.err != nil {
		return p.err
	}
	return err
}

// takeTurn waits for a turn.
func (db *DB) takeTurn(ctx context.Context, turns *fairness.Turns, how Effort) (*fairness.Turn, error) {
	turn, err := turns.Take(ctx, fairness.From(ctx), how == LookUp)
	switch {
	case errors.Is(err, fairness.ErrClosed):
		err = store.ErrClosed
	case err == nil && turn.Waited() > 0:
		db.o.Observe.ReadWaited(how.String(), turn.Waited())
	}
	return turn, err
}

// Snapshot is Read within one read transaction: all that fn reads is of one
// state of the database.
func (db *DB) Snapshot(parent context.Context, how Effort, fn func(ctx context.Context, c *Conn) error) error {
	return db.Read(parent, how, InSnapshot(fn))
}

// InTime is Snapshot within Options.QueryTimeout by the clock, waiting for turns
// included: for what must be read in one transaction however long it takes,
// because a transaction that stays open keeps the log from being written back.
// Of such reads only a number is under way at a time; who begins one is not
// ended in favour of others who want to.
func (db *DB) InTime(parent context.Context, how Effort, fn func(ctx context.Context, c *Conn) error) error {
	ctx, cancel := parent, context.CancelFunc(func() {})
	l := &Loan{How: how, Grace: math.Inf(1), left: math.Inf(1)}
	if d := db.o.Timeout(); d > 0 {
		ctx, cancel = context.WithTimeout(parent, d)
		l.left = d.Seconds() * stepsPerSecond
	}
	defer cancel()
	turn, err := db.takeTurn(ctx, db.readers.whole, how)
	if err != nil {
		return readError(parent, ctx, err)
	}
	defer turn.Done()
	err = db.lend(ctx, l, InSnapshot(fn))
	turn.Spend(l.used)
	return readError(parent, ctx, err)
}

// Whole is Snapshot without a time limit, on a connection of its own:
// for the operator's work that goes through the whole database, which must not
// take a connection from the clients.
func (db *DB) Whole(ctx context.Context, fn func(ctx context.Context, c *Conn) error) error {
	select {
	case <-db.closing:
		return store.ErrClosed
	default:
	}
	db.whole.Add(1)
	defer db.whole.Add(-1)
	dsn, pragmas := readerPragmas(operatorCache, db.readers.maps)
	c, err := connect(db.path, dsn, pragmas)
	if err != nil {
		return err
	}
	return errors.Join(readError(ctx, ctx, InSnapshot(fn)(ctx, c)), c.Close())
}

// operatorCache is the page cache in bytes of a connection for the operator's
// work.
const operatorCache = 16 << 20

// InSnapshot is fn in one transaction that reads: everything that fn sees is of
// one state of the database.
func InSnapshot(fn func(ctx context.Context, c *Conn) error) func(ctx context.Context, c *Conn) error {
	return func(ctx context.Context, c *Conn) (err error) {
		if _, err := c.Exec("BEGIN"); err != nil {
			return err
		}
		defer func() {
			p := c.pace
			c.pace = nil // a read that was ended ends its transaction all the same
			if _, e := c.Exec("ROLLBACK"); e != nil && err == nil {
				err = e
			}
			c.pace = p
		}()
		return fn(ctx, c)
	}
}
