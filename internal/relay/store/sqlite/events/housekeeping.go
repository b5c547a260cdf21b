package events

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/search"
)

const (
	sqlExpired      = `SELECT seq FROM events WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`
	sqlExpiredPast  = `SELECT seq, pubkey, length(json) FROM history WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`
	sqlFirstExpiry  = `SELECT min(expires_at) FROM events WHERE expires_at IS NOT NULL`
	sqlFirstExpiry2 = `SELECT min(expires_at) FROM history WHERE expires_at IS NOT NULL`
)

// due is the command for what is due.
func (w *writer) due() store.Housekeep {
	c := &w.chores
	return store.Housekeep{Expiry: c.expiry != 0 && c.expiry <= w.s.clock().Unix(), Prune: c.prune <= w.s.clock().Unix()}
}

// housekeep does one chunk of what is due and reports whether there may be
// more.
func (w *writer) housekeep(c store.Housekeep) (more bool, err error) {
	if c.Expiry {
		n, err := w.sweepExpired(sweepChunk)
		if err != nil {
			return false, err
		}
		if n >= sweepChunk {
			return true, nil
		}
		if err := w.findExpiry(); err != nil {
			return false, err
		}
	}
	if !c.Prune {
		return false, nil
	}
	contracts := func(limit int) (int, error) { return w.others.Contracts.Prune(limit, c.After) }
	for _, prune := range []func(int) (int, error){w.pruneDays, contracts, w.pruneQuarantine} {
		n, err := prune(sweepChunk)
		if err != nil {
			return false, err
		}
		if n >= sweepChunk {
			return true, nil
		}
	}
	w.chores.prune = w.Now + pruneEvery
	return false, nil
}

// sweepExpired removes events and versions whose NIP-40 time has come. Readers
// have not seen them since that time.
func (w *writer) sweepExpired(limit int) (int, error) {
	n := 0
	err := w.Conn().Each(sqlExpired, []engine.Value{w.Now, int64(limit)}, func(row []engine.Value) error {
		n++
		return w.removeEvent(row[0].(int64), byExpiry)
	})
	if err != nil || n >= limit {
		return n, err
	}
	past, err := w.removeHistory(byExpiry, sqlExpiredPast, w.Now, int64(limit-n))
	return n + past, err
}

// findExpiry reads the earliest NIP-40 time stored.
func (w *writer) findExpiry() error {
	w.chores.expiry = 0
	for _, text := range []string{sqlFirstExpiry, sqlFirstExpiry2} {
		at, err := w.Conn().Number(text)
		if err != nil {
			return err
		}
		w.expiresAt(at)
	}
	return nil
}

// Sweep does all housekeeping that is due now, without waiting for its time:
// expired events, superseded versions that are too old, what retention does not
// keep, deleted texts that are still in the full-text index. The store does the
// same by itself, piece by piece.
func (s *Store) Sweep(ctx context.Context) error {
	if err := s.retainAll(ctx); err != nil {
		return err
	}
	for _, c := range []store.Command{store.Housekeep{Expiry: true, Prune: true}, store.Tighten{}, store.ForgetParties{}} {
		for more := true; more; {
			var err error
			if more, err = store.Answer[bool](ctx, s.order, c); err != nil {
				return err
			}
		}
	}
	for more := true; more; {
		err := s.apart(ctx, func(w *writer) (err error) {
			if more = w.text.Purging; more {
				more, err = w.text.PurgeStep(search.PurgeChunk)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
