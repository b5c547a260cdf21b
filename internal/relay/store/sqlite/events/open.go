package events

import (
	"context"
	"errors"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/history"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/internal/relay/store/sqlite/events/restore"
	"engramd/internal/relay/store/sqlite/events/retention"
	"engramd/internal/relay/store/sqlite/events/rot"
	"engramd/internal/relay/store/sqlite/events/search"
)

// Open opens a database and what it is kept by, which is for what knows no event
// (sqlite.Open). with returns what participants do for it, who read in the
// database when it is open and have their commands executed.
func Open(ctx context.Context, o Options, with func(*engine.DB, store.Orders) apply.Parts) (*Store, *engine.DB, error) {
	if err := o.complete(); err != nil {
		return nil, nil, err
	}
	s := &Store{}
	if o.Sequenced {
		o.follows, s.several = true, &sequence{s: s}
		o.Halt = s.several.halt
		o.MaxBytes = 0 // a full file would end the store
	}
	s.live.Store(&o.Live)
	o.Timeout = func() time.Duration { return s.live.Load().QueryTimeout }
	o.Last = record.SQLLastSeq
	s.o = o
	s.db = engine.New(o.Options)
	s.rot = &rot.Known{Log: o.Log, Found: func() { o.Observe.Rotten() }}
	s.Reader = &query.Reader{DB: s.db, Clock: o.Clock, Observe: o.Observe, Table: o.Table, Rot: s.rot}
	s.parts = with(s.db, s.order)
	s.historyReader = &history.Reader{Reader: s.Reader, Options: s.live.Load, AddArrivals: s.parts.Arrivals}
	s.Restorer = &restore.Restorer{DB: s.db, Order: s.order, Table: o.Table}
	s.Cleaner = &retention.Cleaner{Reader: s.Reader, Order: s.order}
	s.scrub = &scrubber{s: s, at: -1}
	s.retainer = &retention.Retainer{Cleaner: *s.Cleaner, Options: s.live.Load, Log: o.Log, Confirmed: o.Confirmed}
	if q := s.several; q != nil {
		s.retainer.Leads, s.retainer.Lease = q.leads, q.lease
	}
	s.writer = newWriter(s)
	if err := s.db.Open(ctx, s.writer); err != nil {
		return nil, nil, err
	}
	switch _, older := s.db.Older(); {
	case o.ReadOnly && older && o.AsIs: // nothing of it can be read
	case o.ReadOnly:
		if err := s.lookAround(ctx); err != nil {
			return nil, nil, errors.Join(err, s.db.Close())
		}
	case !s.o.follows:
		s.retainer.Start(o.After)
		s.scrub.start(o.After)
	case s.several != nil:
		s.scrub.start(o.After)
	}
	return s, s.db, nil
}

// lookAround reads what a store that only reads has to know.
func (s *Store) lookAround(ctx context.Context) error {
	return s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		last, err := record.LastSeq(c)
		if err != nil && !engine.Unreadable(err) { // what can still be read is wanted
			return err
		}
		s.lastSeq.Store(last)
		complete, err := search.IsComplete(c)
		s.Indexed.Store(complete)
		return err
	})
}

// complete fills in the defaults.
func (o *Options) complete() error {
	if o.Path == "" || o.Table == nil {
		return errors.New("store: Path and Table are required")
	}
	o.Options.Complete()
	if o.OnCommit == nil {
		o.OnCommit = func([]store.Committed) {}
	}
	if o.Confirmed == nil {
		o.Confirmed = func() bool { return true }
	}
	if o.Latest == nil {
		o.Latest = func(context.Context) error { return nil }
	}
	if o.Arrived == nil {
		o.Arrived = func(int64) {}
	}
	completeLive(&o.Live)
	return nil
}

// LastSeq is the highest sequence number that every reader can see. It only
// grows.
func (s *Store) LastSeq() int64 { return s.lastSeq.Load() }

// Close refuses further writes, commits and answers those that wait, ends the
// reads, and checkpoints the log into the database file. It may be called more
// than once.
func (s *Store) Close() error {
	s.scrub.stop()
	s.retainer.Stop()
	s.several.stop()
	return s.db.Close()
}
