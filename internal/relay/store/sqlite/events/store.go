package events

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/history"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/restore"
	"engramd/internal/relay/store/sqlite/events/retention"
	"engramd/internal/relay/store/sqlite/events/rot"
)

// historyReader reads superseded versions.
type historyReader = history.Reader

// Store is one open database: what events do to it and how they are found, on
// the engine's writer and readers.
type Store struct {
	*query.Reader
	*historyReader
	*restore.Restorer
	*retention.Cleaner
	o        Options
	db       *engine.DB
	live     atomic.Pointer[store.Live]
	lastSeq  atomic.Int64
	several  *sequence // nil: the store is alone
	parts    apply.Parts
	writer   *writer
	retainer *retention.Retainer
	rot      *rot.Known
	scrub    *scrubber
}

// Options say how a store is opened. Path and Table are required; a zero
// elsewhere means the default named there.
type Options struct {
	// Options are those of the file. An existing database that is opened to read,
	// beside the process that writes it, is for export, check and backup: no
	// write, no migration, writes answer ErrReadOnly, LastSeq stands still. One of
	// an older version is ErrOlder, unless Scratch or AsIs says otherwise; the
	// copy in Scratch needs 2.5 times its size.
	engine.Options
	Table *gate.Table // read rules: they class every event that is stored
	// OnCommit gets what was stored, in seq order, after the commit is durable
	// and LastSeq moved and before anybody's Wait returns. It runs on the
	// writer's goroutine: it must not block and must not call the store's write
	// methods.
	OnCommit   func([]store.Committed)
	store.Live // what SetOptions may change later

	// Sequenced says that the store is one of several: what is written is handed
	// to the Sequencer that Join is given, and executed by Execute.
	Sequenced bool
	// Admit decides what the lists say of clients' events of a store that is one
	// of several, on the writer's goroutine; nil lets all pass.
	Admit store.Admission
	// Changed is told of each command of the operator's lists (Administer) that is
	// durable, on the writer's goroutine and before the next is executed; nil
	// tells nobody.
	Changed func(store.Command)
	// Confirmed reports whether the clock may be gone by: until it may, the store
	// removes nothing by age of itself. nil is a clock that always may. Arrived is
	// told of the newest arrival, in Unix seconds, before that is asked first; nil
	// is not.
	Confirmed func() bool
	Arrived   func(newest int64)
	// Latest returns when a store that is one of several has seen what time it is by
	// the order of commands: what goes by age is executed at that. nil returns at
	// once.
	Latest func(context.Context) error

	executed func(store.Executed) // told of each command that is durable, in order, on the writer's goroutine; nil tells nobody
	follows  bool                 // commands are another's to give: none of the store's own
}

func (w *writer) configure(l store.Live) error {
	if w.s.several != nil {
		if err := w.s.several.keepLive(&l); err != nil {
			return err
		}
	}
	if err := w.LimitSize(l.MaxBytes); err != nil {
		return err
	}
	w.After(func() { w.s.retainer.Anew(w.s.live.Swap(&l).Retention, l.Retention) })
	return nil
}

// SetOptions replaces the options that may change while the store is open. They
// hold for the writes that follow. Of a store that is one of several, only those
// change that are its own: QueryTimeout. The others are what the last Configure
// in the order of commands says.
func (s *Store) SetOptions(ctx context.Context, l store.Live) error {
	completeLive(&l)
	if s.several != nil {
		s.ownLive(l)
		return nil
	}
	return store.Orders(s.order).Tell(ctx, store.Configure{Live: l})
}

func completeLive(l *store.Live) {
	l.Versions = cmp.Or(l.Versions, 100)
	l.Days = cmp.Or(l.Days, 365)
	l.QueryTimeout = cmp.Or(l.QueryTimeout, 10*time.Second)
}

// MaxBytes is the limit of the database's size in force, 0 for none.
func (s *Store) MaxBytes() int64 { return s.live.Load().MaxBytes }

// CheckTable refuses rules that class events in other ways than those of
// Options.Table, which hold while the store is open: the error is ErrRestart.
func (s *Store) CheckTable(t *gate.Table) error {
	if t.Fingerprint() != s.o.Table.Fingerprint() {
		return store.ErrRestart
	}
	return nil
}
