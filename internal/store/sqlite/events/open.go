package events

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

// Store is one open database: what events do to it and how they are found, on
// the engine's writer and readers.
type Store struct {
	db       *engine.DB
	clock    func() time.Time
	log      *slog.Logger
	observe  store.Observer
	onCommit func([]store.Committed)
	live     atomic.Pointer[store.Live]
	table    atomic.Pointer[gate.Table]
	lastSeq  atomic.Int64
	search   atomic.Bool // the full-text index exists
	restores restorations
	executed func(store.Executed)
	follows  bool

	parts     Parts
	writer    *writer
	retainer  *retainer  // nil when open for reading alone
	retaining sync.Mutex // one round of retention at a time
}

// Open opens a database and what it is kept by, which is for what knows no event
// (sqlite.Open). with returns what participants do for it, who read in the
// database when it is open and have their commands executed.
func Open(ctx context.Context, o Options, with func(*engine.DB, store.Orders) Parts) (*Store, *engine.DB, error) {
	if err := o.complete(); err != nil {
		return nil, nil, err
	}
	s := &Store{
		clock: o.Clock, log: o.Log, observe: o.Observe, onCommit: o.OnCommit, executed: o.executed, follows: o.follows,
	}
	s.live.Store(&o.Live)
	s.table.Store(o.Table)
	s.writer = &writer{s: s}
	s.db = engine.New(engine.Options{
		Path: o.Path, Readers: o.Readers, ReadOnly: o.ReadOnly, Scratch: o.Scratch, AsIs: o.AsIs,
		Clock: o.Clock, After: o.After, MaxBatch: o.MaxBatch, MaxQueue: o.MaxQueue, MaxQueueBytes: o.MaxQueueBytes,
		CacheBytes: o.CacheBytes, MaxLogBytes: o.MaxLogBytes, Log: o.Log, Observe: o.Observe, Pacing: o.pacing,
		QueryTimeout: func() time.Duration { return s.live.Load().QueryTimeout },
	})
	s.parts = with(s.db, s.order)
	if err := s.db.Open(ctx, s.writer); err != nil {
		return nil, nil, err
	}
	switch _, older := s.db.Older(); {
	case o.ReadOnly && older && o.AsIs: // nothing of it can be read
	case o.ReadOnly:
		if err := s.lookAround(ctx); err != nil {
			return nil, nil, errors.Join(err, s.db.Close())
		}
	case !s.follows:
		s.startRetainer(o.After)
	}
	return s, s.db, nil
}

// lookAround reads what a store that only reads has to know.
func (s *Store) lookAround(ctx context.Context) error {
	return s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		last, err := lastSeq(c)
		if err != nil {
			return err
		}
		s.lastSeq.Store(last)
		complete, err := searchIsComplete(c)
		s.search.Store(complete)
		return err
	})
}

// complete fills in the defaults.
func (o *Options) complete() error {
	if o.Path == "" || o.Table == nil {
		return errors.New("store: Path and Table are required")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = engine.Nobody{}
	}
	if o.OnCommit == nil {
		o.OnCommit = func([]store.Committed) {}
	}
	completeLive(&o.Live)
	return nil
}

func completeLive(l *store.Live) {
	l.Versions = cmp.Or(l.Versions, 100)
	l.Days = cmp.Or(l.Days, 365)
	l.QueryTimeout = cmp.Or(l.QueryTimeout, 10*time.Second)
}

// LastSeq is the highest sequence number that every reader can see. It only
// grows.
func (s *Store) LastSeq() int64 { return s.lastSeq.Load() }

// SetOptions replaces the options that may change while the store is open. They
// hold for the writes that follow.
func (s *Store) SetOptions(ctx context.Context, l store.Live) error {
	completeLive(&l)
	return s.tell(ctx, store.Configure{Live: l})
}

func (w *writer) configure(l store.Live) error {
	if err := w.LimitSize(l.MaxBytes); err != nil {
		return err
	}
	w.After(func() { w.s.retainAnew(w.s.live.Swap(&l).Retention, l.Retention) })
	return nil
}

// MaxBytes is the limit of the database's size in force, 0 for none.
func (s *Store) MaxBytes() int64 { return s.live.Load().MaxBytes }

// SetTable replaces the gate rules that events are classed by. Rules that would
// put stored events into other classes cannot change while the store is open:
// the error is ErrRestart.
func (s *Store) SetTable(t *gate.Table) error {
	if t.Fingerprint() != s.table.Load().Fingerprint() {
		return store.ErrRestart
	}
	s.table.Store(t)
	return nil
}

// Close refuses further writes, commits and answers those that wait, ends the
// reads, and checkpoints the log into the database file. It may be called more
// than once.
func (s *Store) Close() error {
	s.retainer.stop()
	return s.db.Close()
}
