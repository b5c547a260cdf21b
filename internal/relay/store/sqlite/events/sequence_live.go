package events

import (
	"context"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// metaLive is the last Configure of a store that is one of several, in the table
// meta: it holds after a restart, whatever the store is opened with.
const metaLive = "cluster.live"

// keepLive stores options that came with a command. What is each store's own is
// not changed by it: how long reads may take, and that its file has no limit.
func (q *sequence) keepLive(l *store.Live) error {
	b, err := store.AppendCommand(nil, store.Executed{Command: store.Configure{Live: *l}})
	if err != nil {
		return err
	}
	now := q.s.live.Load()
	l.QueryTimeout, l.MaxBytes = now.QueryTimeout, now.MaxBytes
	return q.s.writer.SetMeta(metaLive, b)
}

// openLive puts the last options that came with a command into force.
func (q *sequence) openLive(c *engine.Conn) error {
	if q == nil {
		return nil
	}
	b, err := c.Blob(engine.SQLMeta, metaLive)
	if err != nil || b == nil {
		return err
	}
	e, err := store.ParseCommand(b)
	if err != nil {
		return err
	}
	if c, ok := e.Command.(store.Configure); ok {
		now := q.s.live.Load()
		c.Live.QueryTimeout, c.Live.MaxBytes = now.QueryTimeout, now.MaxBytes
		q.s.live.Store(&c.Live)
	}
	return nil
}

// ownLive changes those options that are each store's own.
func (s *Store) ownLive(l store.Live) {
	for {
		was := s.live.Load()
		now := *was
		now.QueryTimeout = l.QueryTimeout
		if s.live.CompareAndSwap(was, &now) {
			return
		}
	}
}

// leads reports whether this store gives the commands that nobody asks for.
func (q *sequence) leads() bool { return q.to.Leads() }

// lease is the context to give them in.
func (q *sequence) lease(ctx context.Context) context.Context { return q.to.Lease(ctx) }

// houseEvery is how often a store that leads others looks at what is due.
const houseEvery = time.Second

// keepHouse gives the commands of housekeeping while this store leads.
func (q *sequence) keepHouse(ctx context.Context) {
	var left stages
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.s.o.After(houseEvery):
		}
		if q.to.Leads() {
			if err := q.forgetStages(q.to.Lease(ctx), &left); err != nil && ctx.Err() == nil {
				q.s.o.Log.Warn("what restores left is not forgotten", "err", err)
			}
		}
		for more := true; more && q.to.Leads() && ctx.Err() == nil; {
			var err error
			if more, err = q.houseStep(q.to.Lease(ctx)); err != nil && ctx.Err() == nil {
				q.s.o.Log.Warn("housekeeping is put off", "err", err)
			}
		}
	}
}

// houseStep gives the commands that are due now, a step of each, and reports
// whether there may be more.
func (q *sequence) houseStep(ctx context.Context) (more bool, err error) {
	var due []store.Command
	err = q.s.db.Do(ctx, func() error {
		due = q.s.writer.dueCommands()
		return q.s.writer.Halted()
	})
	for _, c := range due {
		if _, byAge := c.(store.Housekeep); byAge && err == nil {
			if err = q.s.o.Latest(ctx); err == nil && !q.s.o.Confirmed() {
				continue
			}
		}
		if err != nil {
			return false, err
		}
		var again bool
		again, err = store.Answer[bool](ctx, q.order, c)
		more = more || again
	}
	return more && err == nil, err
}

// A restore that its store began and never ended, because it was killed, leaves
// what it staged. Nobody else knows, so the leading store forgets what it has
// seen lie there for staleAfter: no restore takes as long.
const (
	staleAfter = 24 * time.Hour
	lookEvery  = time.Hour
	sqlStages  = `SELECT DISTINCT restore FROM staged LIMIT 1000`
)

// stages is what the leading store has seen of restores: since when.
type stages struct {
	seen map[int64]time.Time
	next time.Time // to look
}

// stale returns which of the restores that have something staged now are to be
// forgotten.
func (k *stages) stale(now time.Time, staged []int64) (out []int64) {
	seen := map[int64]time.Time{}
	for _, n := range staged {
		since, known := k.seen[n]
		if !known {
			since = now
		}
		if seen[n] = since; now.Sub(since) >= staleAfter {
			out = append(out, n)
		}
	}
	k.seen, k.next = seen, now.Add(lookEvery)
	return out
}

// forgetStages gives commands that forget what dead stores have staged.
func (q *sequence) forgetStages(ctx context.Context, k *stages) error {
	if q.s.o.Clock().Before(k.next) || !q.s.o.Confirmed() {
		return nil
	}
	staged, err := engine.ReadList(ctx, q.s.db, engine.LookUp, func(v engine.Row) (int64, error) { return v.Int(0), nil }, sqlStages)
	if err != nil {
		return err
	}
	for _, n := range k.stale(q.s.o.Clock(), staged) {
		for more := true; more; {
			if more, err = store.Answer[bool](ctx, q.order, store.Unstage{Restore: n}); err != nil {
				return err
			}
		}
	}
	return nil
}
