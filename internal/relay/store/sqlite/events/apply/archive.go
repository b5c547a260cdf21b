package apply

import (
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/internal/relay/store/sqlite/events/search"
)

// archive holds the events (heads, regular ones and history) with all that
// belongs to each: tags, the numbers of keys, what it counts for its author, its
// words in the full-text index, its place in a thread. It stores and removes, and
// decides nothing: that is the writer's.
type archive struct {
	ledger.Tx
	healing
	Stage
	Text    search.Index
	Usage   ledger.Usage
	Keys    ledger.PubkeyIDs
	Known   known
	Chores  chores
	Others  Participants
	room    room
	current *Pending // being applied
}

// known is what the writer knows of tables without asking them: false means
// surely empty. They are empty on most relays most of the time, and are asked
// for every event otherwise.
type known struct {
	History, deletedIDs, deletedAddresses, vanished, quarantine, rolledBack, floors bool
}

// Open reads what it has to know.
func (a *archive) Open() (err error) {
	if a.Seq, err = record.LastSeq(a.Conn()); err != nil {
		return err
	}
	for table, flag := range map[string]*bool{
		"history": &a.Known.History, "deleted_ids": &a.Known.deletedIDs, "deleted_addresses": &a.Known.deletedAddresses,
		"vanished": &a.Known.vanished, "quarantine": &a.Known.quarantine, "rolled_back": &a.Known.rolledBack, "removed_heads": &a.Known.floors,
	} {
		if *flag, err = a.Conn().Exists("SELECT 1 FROM " + table + " LIMIT 1"); err != nil {
			return err
		}
	}
	return a.Keys.Open()
}

// chores say when housekeeping is next to be done, in Unix seconds.
type chores struct {
	expiry int64 // the earliest NIP-40 time stored, or earlier; 0 for none
	prune  int64
}

// Due reports whether any is to be done.
func (c *chores) Due(now int64) bool { return c.expiry != 0 && c.expiry <= now || c.prune <= now }

// Command is for what is due.
func (c *chores) Command(now int64) store.Housekeep {
	return store.Housekeep{Expiry: c.expiry != 0 && c.expiry <= now, Prune: c.prune <= now}
}

// Wait is how long to sleep until the next chore: at least a second, at most an
// hour, because the clock may be set.
func (c *chores) Wait(now int64) time.Duration {
	next := c.prune
	if c.expiry != 0 {
		next = min(next, c.expiry)
	}
	return max(time.Second, min(time.Hour, time.Duration(next-now)*time.Second))
}

// Postpone puts housekeeping off after a failure.
func (c *chores) Postpone(now int64) {
	if c.expiry != 0 {
		c.expiry = max(c.expiry, now+RetryAfter)
	}
	c.prune = max(c.prune, now+RetryAfter)
}

// expiresAt notes when an event expires.
func (c *chores) expiresAt(at int64) {
	if at != 0 && (c.expiry == 0 || at < c.expiry) {
		c.expiry = at
	}
}

// Housekeeping takes this many rows, or contracts, in one transaction, and
// prunes by age this often.
const (
	SweepChunk = 500
	PruneEvery = int64(time.Hour / time.Second)
	RetryAfter = int64(30)
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
	err := w.Conn().Each(sqlExpired, []engine.Value{w.Now, int64(limit)}, func(row engine.Row) error {
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
