package apply

import (
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

const (
	sqlExpired      = `SELECT seq FROM events WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`
	sqlExpiredPast  = `SELECT seq, pubkey, length(json) FROM history WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`
	sqlFirstExpiry  = `SELECT min(expires_at) FROM events WHERE expires_at IS NOT NULL`
	sqlFirstExpiry2 = `SELECT min(expires_at) FROM history WHERE expires_at IS NOT NULL`
)

// Housekeep does one chunk of what is due and reports whether there may be
// more.
func (w *Writer) Housekeep(c store.Housekeep) (more bool, err error) {
	if c.Expiry {
		n, err := w.sweepExpired(SweepChunk)
		if err != nil {
			return false, err
		}
		if n >= SweepChunk {
			return true, nil
		}
		if err := w.FindExpiry(); err != nil {
			return false, err
		}
	}
	if !c.Prune {
		return false, nil
	}
	contracts := func(limit int) (int, error) { return w.Others.Contracts.Prune(limit, c.After) }
	for _, prune := range []func(int) (int, error){w.pruneDays, contracts, w.pruneQuarantine} {
		n, err := prune(SweepChunk)
		if err != nil {
			return false, err
		}
		if n >= SweepChunk {
			return true, nil
		}
	}
	w.Chores.prune = w.Now + PruneEvery
	return false, nil
}

// sweepExpired removes events and versions whose NIP-40 time has come. Readers
// have not seen them since that time.
func (w *Writer) sweepExpired(limit int) (int, error) {
	n := 0
	err := w.Conn().Each(sqlExpired, []engine.Value{w.Now, int64(limit)}, func(row []engine.Value) error {
		n++
		return w.RemoveEvent(row[0].(int64), byExpiry)
	})
	if err != nil || n >= limit {
		return n, err
	}
	past, err := w.RemoveHistory(byExpiry, sqlExpiredPast, w.Now, int64(limit-n))
	return n + past, err
}

// FindExpiry reads the earliest NIP-40 time stored.
func (w *Writer) FindExpiry() error {
	w.Chores.expiry = 0
	for _, text := range []string{sqlFirstExpiry, sqlFirstExpiry2} {
		at, err := w.Conn().Number(text)
		if err != nil {
			return err
		}
		w.Chores.expiresAt(at)
	}
	return nil
}

// pruneDays removes up to limit versions superseded longer ago than
// history.days.
func (w *Writer) pruneDays(limit int) (int, error) {
	days := w.Options().Days
	if days < 0 {
		return 0, nil
	}
	return w.RemoveHistory(byPruning, sqlBeyondDays, w.Now-int64(days)*record.SecondsPerDay, int64(limit))
}

// pruneQuarantine removes up to limit rows whose time is over: NIP-40, or
// history.days after they were taken away.
func (w *Writer) pruneQuarantine(limit int) (int, error) {
	n, err := w.Unquarantine(sqlQuarantineExpired, w.Now, int64(limit))
	if days := w.Options().Days; err == nil && days >= 0 && n < limit {
		var more int
		more, err = w.Unquarantine(sqlQuarantineOld, w.Now-int64(days)*record.SecondsPerDay, int64(limit-n))
		n += more
	}
	return n, err
}
