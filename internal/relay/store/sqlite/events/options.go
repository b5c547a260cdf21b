package events

import (
	"cmp"
	"context"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
)

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
	return s.tell(ctx, store.Configure{Live: l})
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
	if t.Fingerprint() != s.table.Fingerprint() {
		return store.ErrRestart
	}
	return nil
}
