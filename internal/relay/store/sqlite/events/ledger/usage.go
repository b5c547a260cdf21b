// Package ledger is what the writer keeps count of beside the events: the numbers
// of keys and what each author keeps, with what a transaction has changed of both.
package ledger

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/nips/nip01"
)

// Tx is what every part of the writer works with.
type Tx struct {
	*engine.Writer                // from Prepare on
	Args           []engine.Value // of the statement that runs
	Options        func() *store.Live
	Logger         *slog.Logger
	Tight          bool // there is no room to leave anything for later
}

// Part is a part of the writer that remembers, beside the tables, what a
// transaction has changed so far.
type Part interface {
	Begin()     // a transaction
	Mark()      // where a member begins
	Undo()      // what came since the mark
	End() error // writes what was collected
	RolledBack()
}

const (
	sqlUsage    = `SELECT events, bytes FROM author_usage WHERE author = ?`
	sqlAddUsage = `INSERT INTO author_usage(author, events, bytes) VALUES (?1, ?2, ?3)
		ON CONFLICT DO UPDATE SET events = events + ?2, bytes = bytes + ?3`
	sqlNoUsage = `DELETE FROM author_usage WHERE author = ? AND events = 0`
	sqlAbove   = `SELECT author, events, bytes FROM author_usage WHERE ?1 > 0 AND events > ?1 OR ?2 > 0 AND bytes > ?2 ORDER BY author`
)

// Usage is what authors keep here, events and history together, of those that
// wrote lately, and what the current transaction changes of it.
type Usage struct {
	*Tx
	authors map[record.Pubkey]*tally
	changed []*tally
	counted []counted // in the transaction under way
	kept    int       // of them, when the member began
}

// Begin is Part's, and so are those that follow.
func (u *Usage) Begin() { u.counted = u.counted[:0] }
func (u *Usage) Mark()  { u.kept = len(u.counted) }

func (u *Usage) Undo() {
	for _, c := range u.counted[u.kept:] {
		u.change(c.who, amount{-c.Events, -c.Bytes})
	}
	u.counted = u.counted[:u.kept]
}

func (u *Usage) RolledBack() { u.reset(true) }
func (u *Usage) Durable()    { u.reset(false) }

type amount struct{ Events, Bytes int64 }

func (a *amount) add(b amount) { a.Events, a.Bytes = a.Events+b.Events, a.Bytes+b.Bytes }

// tally is one author's usage.
type tally struct {
	key    engine.Value
	now    amount
	known  bool   // now is right; else it is not known
	by     amount // what the transaction changes
	listed bool   // among those changed
}

// counted is one change of an author's usage.
type counted struct {
	who record.Pubkey
	amount
}

// maxUsage bounds the counters in memory; beyond it they are dropped and read
// anew on demand.
const maxUsage = 100_000

// of is the tally of an author, a new one if it is not in memory.
func (u *Usage) of(who record.Pubkey) *tally {
	if t := u.authors[who]; t != nil {
		return t
	}
	if u.authors == nil || len(u.authors) >= maxUsage {
		u.authors = map[record.Pubkey]*tally{}
		for _, t := range u.changed {
			u.authors[record.Pubkey(t.key.([]byte))] = t
		}
	}
	t := &tally{key: bytes.Clone(who[:])}
	u.authors[who] = t
	return t
}

func (u *Usage) change(who record.Pubkey, by amount) {
	t := u.of(who)
	t.now.add(by)
	t.by.add(by)
	if !t.listed {
		t.listed = true
		u.changed = append(u.changed, t)
	}
}

// reset ends the current transaction.
func (u *Usage) reset(failed bool) {
	for _, t := range u.changed {
		t.by, t.listed = amount{}, false
		t.known = t.known && !failed
	}
	u.changed = u.changed[:0]
}

// Count notes that an author has more or fewer events.
func (u *Usage) Count(who record.Pubkey, events, bytes int64) {
	by := amount{events, bytes}
	u.change(who, by)
	u.counted = append(u.counted, counted{who, by})
}

// End puts what the transaction changed into the table.
func (u *Usage) End() error {
	for _, t := range u.changed {
		if t.by == (amount{}) {
			continue
		}
		u.Args = append(u.Args[:0], t.key, t.by.Events, t.by.Bytes)
		_, err := u.Conn().Exec(sqlAddUsage, u.Args...)
		if err == nil && t.by.Events < 0 {
			_, err = u.Conn().Exec(sqlNoUsage, t.key)
		}
		if err != nil {
			return fmt.Errorf("usage of authors: %w", err)
		}
	}
	return nil
}

// Before is what the record's author keeps now, if there is a quota.
func (u *Usage) Before(r *record.Record) (amount, error) {
	if unlimited(u.Options().Quota) {
		return amount{}, nil
	}
	t := u.of(record.Pubkey(r.Pubkey))
	if t.known {
		return t.now, nil
	}
	row, err := u.Conn().One(sqlUsage, r.Pubkey)
	if err != nil {
		return amount{}, err
	}
	t.now, t.known = t.by, true
	if row != nil {
		t.now.add(amount{Events: row[0].(int64), Bytes: row[1].(int64)})
	}
	return t.now, nil
}

// MayExceed reports whether storing the record may take its author over the
// quota, whatever the write frees.
func (u *Usage) MayExceed(r *record.Record) bool {
	q := u.Options().Quota
	if unlimited(q) {
		return false
	}
	before, err := u.Before(r)
	return err != nil || refusal(q, before, amount{before.Events + 1, before.Bytes + int64(len(r.JSON))}) != nil
}

// SurelyOverQuota is the refusal of a write that frees nothing, made before it
// changes anything; else nil.
func (u *Usage) SurelyOverQuota(r *record.Record, before amount, o *store.PutOptions) *nip01.Refusal {
	if r.D != nil || r.Event.Kind == record.KindDeletion || r.Event.Kind == record.KindVanish || o.Import {
		return nil
	}
	return refusal(u.quotaOf(o), before, amount{before.Events + 1, before.Bytes + int64(len(r.JSON))})
}

// OverQuota is the refusal when the write took its author over the quota, else
// nil. Imports and requests to vanish are always allowed.
func (u *Usage) OverQuota(r *record.Record, before amount, o *store.PutOptions) *nip01.Refusal {
	q := u.quotaOf(o)
	if unlimited(q) || o.Import || r.Event.Kind == record.KindVanish {
		return nil
	}
	return refusal(q, before, u.of(record.Pubkey(r.Pubkey)).now) // known since before
}

// quotaOf is the quota that holds for a write: none that nobody has configured
// for what a followed relay brings.
func (u *Usage) quotaOf(o *store.PutOptions) store.Quota {
	q := u.Options().Quota
	if o.Replica && q.DefaultEvents {
		q.Events = 0
	}
	if o.Replica && q.DefaultBytes {
		q.Bytes = 0
	}
	return q
}

func unlimited(q store.Quota) bool { return q.Events <= 0 && q.Bytes <= 0 }

// refusal is the answer to a write that leaves its author over the quota, nil if
// it may stand. One that leaves him with no more than before may: a deletion
// that frees something, a smaller version. A default quota lets nobody cross
// it, and so does not hold who is beyond it already: an import, a restore or an
// older version of this program brought him there.
func refusal(q store.Quota, before, after amount) *nip01.Refusal {
	const text = "quota: this key may keep %d %s here, superseded versions included; delete some"
	over := func(most int64, byDefault bool, was, is int64) bool {
		return most > 0 && is > most && is > was && !(byDefault && was > most)
	}
	switch {
	case over(q.Events, q.DefaultEvents, before.Events, after.Events):
		return nip01.Refuse(nip01.PrefixBlocked, text, q.Events, "events")
	case over(q.Bytes, q.DefaultBytes, before.Bytes, after.Bytes):
		return nip01.Refuse(nip01.PrefixBlocked, text, q.Bytes, "bytes")
	}
	return nil
}

// Above lists the authors whom a default quota does not hold because they are
// above it.
func Above(ctx context.Context, c *engine.Conn, q store.Quota) (out []store.Usage, err error) {
	var events, bytes int64
	if q.DefaultEvents {
		events = q.Events
	}
	if q.DefaultBytes {
		bytes = q.Bytes
	}
	return engine.List(ctx, c, func(row engine.Row) (store.Usage, error) {
		return store.Usage{Author: row.Hex(0), Events: row.Int(1), Bytes: row.Int(2)}, nil
	}, sqlAbove, events, bytes)
}
