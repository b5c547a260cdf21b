package sqlite

import (
	"context"
	"errors"
	"math"

	"engramd/internal/share"
	"engramd/internal/store"
)

// read lends fn a read-only connection. Each statement fn runs is a read
// transaction of its own; for several that must see one state, use snapshot.
// Readers take turns, by share (the context says whose, see share.From), and a
// statement that takes long stops in the middle while it is others' turn. What
// all of it may take is bounded in work, which Live.QueryTimeout names as the
// time that it takes when nobody else reads. The error is ErrTimeout for more
// work than that or when parent's deadline passed, parent's own when the caller
// went away, ErrEnded for a read that was in others' way, ErrClosed after
// Close, else fn's own. fn must not keep the connection nor wait for anything
// but the database.
func (s *Store) read(parent context.Context, how Effort, fn func(ctx context.Context, c *Conn) error) error {
	return ReadError(parent, parent, s.lend(parent, &loan{how: how, grace: longGrace}, fn))
}

// loan is what a read may take.
type loan struct {
	how   Effort
	grace float64 // steps before it can be ended in favour of who wants to begin
	left  float64 // steps it may do, counted down; 0 is what the options allow
	used  float64 // what it was charged for
}

// lend lends fn a connection for as long as ctx lasts.
func (s *Store) lend(ctx context.Context, l *loan, fn func(ctx context.Context, c *Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
	}
	turn, err := s.takeTurn(ctx, s.readers.turns, l.how)
	if err != nil {
		return err
	}
	defer turn.Done()
	turn.Grace(l.grace)
	c, err := s.readers.get()
	if err != nil {
		return err
	}
	if d := s.live.Load().QueryTimeout; l.left == 0 {
		if l.left = math.Inf(1); d > 0 {
			l.left = d.Seconds() * stepsPerSecond
		}
	}
	p := &pace{ctx: ctx, turn: turn, ends: s.closing, slice: s.readers.pacing.slice, left: l.left}
	c.pace = p
	c.watch.Reset()
	p.begin()
	defer func() {
		p.end()
		l.left, l.used = p.left, l.used+p.used
		c.pace = nil
		s.readers.put(c)
	}()
	if err = fn(ctx, c); err != nil && p.err != nil {
		return p.err
	}
	return err
}

// takeTurn waits for a turn.
func (s *Store) takeTurn(ctx context.Context, turns *share.Turns, how Effort) (*share.Turn, error) {
	turn, err := turns.Take(ctx, share.From(ctx), how == LookUp)
	switch {
	case errors.Is(err, share.ErrClosed):
		err = store.ErrClosed
	case err == nil && turn.Waited() > 0:
		s.observe.ReadWaited(how.String(), turn.Waited())
	}
	return turn, err
}

// snapshot is read within one read transaction: all that fn reads is of one
// state of the database.
func (s *Store) snapshot(parent context.Context, how Effort, fn func(ctx context.Context, c *Conn) error) error {
	return s.read(parent, how, InSnapshot(fn))
}

// inTime is snapshot within Live.QueryTimeout by the clock, waiting for turns
// included: for what must be read in one transaction however long it takes,
// because a transaction that stays open keeps the log from being written back.
// Of such reads only a number is under way at a time; who begins one is not
// ended in favour of others who want to.
func (s *Store) inTime(parent context.Context, how Effort, fn func(ctx context.Context, c *Conn) error) error {
	ctx, cancel := parent, context.CancelFunc(func() {})
	l := &loan{how: how, grace: math.Inf(1), left: math.Inf(1)}
	if d := s.live.Load().QueryTimeout; d > 0 {
		ctx, cancel = context.WithTimeout(parent, d)
		l.left = d.Seconds() * stepsPerSecond
	}
	defer cancel()
	turn, err := s.takeTurn(ctx, s.readers.whole, how)
	if err != nil {
		return ReadError(parent, ctx, err)
	}
	defer turn.Done()
	err = s.lend(ctx, l, InSnapshot(fn))
	turn.Spend(l.used)
	return ReadError(parent, ctx, err)
}

// wholeSnapshot is snapshot without a time limit, on a connection of its own:
// for the operator's work that goes through the whole database, which must not
// take a connection from the clients.
func (s *Store) wholeSnapshot(ctx context.Context, fn func(ctx context.Context, c *Conn) error) error {
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
	}
	s.whole.Add(1)
	defer s.whole.Add(-1)
	dsn, pragmas := ReaderPragmas(operatorCache)
	c, err := connect(s.path, dsn, pragmas)
	if err != nil {
		return err
	}
	return errors.Join(ReadError(ctx, ctx, InSnapshot(fn)(ctx, c)), c.Close())
}

// operatorCache is the page cache in bytes of a connection for the operator's
// work.
const operatorCache = 16 << 20

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
