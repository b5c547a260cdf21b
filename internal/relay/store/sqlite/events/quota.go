package events

import (
	"bytes"
	"context"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/nip01"
)

const (
	sqlUsage    = `SELECT events, bytes FROM author_usage WHERE author = ?`
	sqlAddUsage = `INSERT INTO author_usage(author, events, bytes) VALUES (?1, ?2, ?3)
		ON CONFLICT DO UPDATE SET events = events + ?2, bytes = bytes + ?3`
	sqlNoUsage = `DELETE FROM author_usage WHERE author = ? AND events = 0`
	sqlAbove   = `SELECT author, events, bytes FROM author_usage WHERE ?1 > 0 AND events > ?1 OR ?2 > 0 AND bytes > ?2 ORDER BY author`
)

// usage is what authors keep here, events and history together, of those that
// wrote lately, and what the current transaction changes of it.
type usage struct {
	*tx
	authors map[author]*tally
	changed []*tally
	counted []counted // in the transaction under way
	kept    int       // of them, when the member began
}

func (u *usage) begin() { u.counted = u.counted[:0] }
func (u *usage) mark()  { u.kept = len(u.counted) }

func (u *usage) undo() {
	for _, c := range u.counted[u.kept:] {
		u.change(c.who, amount{-c.events, -c.bytes})
	}
	u.counted = u.counted[:u.kept]
}

func (u *usage) rolledBack() { u.reset(true) }
func (u *usage) durable()    { u.reset(false) }

type amount struct{ events, bytes int64 }

func (a *amount) add(b amount) { a.events, a.bytes = a.events+b.events, a.bytes+b.bytes }

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
	who author
	amount
}

// maxUsage bounds the counters in memory; beyond it they are dropped and read
// anew on demand.
const maxUsage = 100_000

// of is the tally of an author, a new one if it is not in memory.
func (u *usage) of(who author) *tally {
	if t := u.authors[who]; t != nil {
		return t
	}
	if u.authors == nil || len(u.authors) >= maxUsage {
		u.authors = map[author]*tally{}
		for _, t := range u.changed {
			u.authors[author(t.key.([]byte))] = t
		}
	}
	t := &tally{key: bytes.Clone(who[:])}
	u.authors[who] = t
	return t
}

func (u *usage) change(who author, by amount) {
	t := u.of(who)
	t.now.add(by)
	t.by.add(by)
	if !t.listed {
		t.listed = true
		u.changed = append(u.changed, t)
	}
}

// reset ends the current transaction.
func (u *usage) reset(failed bool) {
	for _, t := range u.changed {
		t.by, t.listed = amount{}, false
		t.known = t.known && !failed
	}
	u.changed = u.changed[:0]
}

// count notes that an author has more or fewer events.
func (u *usage) count(who author, events, bytes int64) {
	by := amount{events, bytes}
	u.change(who, by)
	u.counted = append(u.counted, counted{who, by})
}

// end puts what the transaction changed into the table.
func (u *usage) end() error {
	for _, t := range u.changed {
		if t.by == (amount{}) {
			continue
		}
		u.args = append(u.args[:0], t.key, t.by.events, t.by.bytes)
		_, err := u.c.Exec(sqlAddUsage, u.args...)
		if err == nil && t.by.events < 0 {
			_, err = u.c.Exec(sqlNoUsage, t.key)
		}
		if err != nil {
			return fmt.Errorf("usage of authors: %w", err)
		}
	}
	return nil
}

// usageBefore is what the record's author keeps now, if there is a quota.
func (u *usage) usageBefore(r *record) (amount, error) {
	if unlimited(u.live().Quota) {
		return amount{}, nil
	}
	t := u.of(author(r.pubkey))
	if t.known {
		return t.now, nil
	}
	row, err := u.c.One(sqlUsage, r.pubkey)
	if err != nil {
		return amount{}, err
	}
	t.now, t.known = t.by, true
	if row != nil {
		t.now.add(amount{events: row[0].(int64), bytes: row[1].(int64)})
	}
	return t.now, nil
}

// mayExceed reports whether storing the record may take its author over the
// quota, whatever the write frees.
func (u *usage) mayExceed(r *record) bool {
	q := u.live().Quota
	if unlimited(q) {
		return false
	}
	before, err := u.usageBefore(r)
	return err != nil || refusal(q, before, amount{before.events + 1, before.bytes + int64(len(r.json))}) != nil
}

// surelyOverQuota is the refusal of a write that frees nothing, made before it
// changes anything; else nil.
func (u *usage) surelyOverQuota(r *record, before amount, o *store.PutOptions) *nip01.Refusal {
	if r.d != nil || r.ev.Kind == kindDeletion || r.ev.Kind == kindVanish || o.Import {
		return nil
	}
	return refusal(u.quotaOf(o), before, amount{before.events + 1, before.bytes + int64(len(r.json))})
}

// overQuota is the refusal when the write took its author over the quota, else
// nil. Imports and requests to vanish are always allowed.
func (u *usage) overQuota(r *record, before amount, o *store.PutOptions) *nip01.Refusal {
	q := u.quotaOf(o)
	if unlimited(q) || o.Import || r.ev.Kind == kindVanish {
		return nil
	}
	return refusal(q, before, u.of(author(r.pubkey)).now) // known since before
}

// quotaOf is the quota that holds for a write: none that nobody has configured
// for what a followed relay brings.
func (u *usage) quotaOf(o *store.PutOptions) store.Quota {
	q := u.live().Quota
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
	case over(q.Events, q.DefaultEvents, before.events, after.events):
		return nip01.Refuse(nip01.PrefixBlocked, text, q.Events, "events")
	case over(q.Bytes, q.DefaultBytes, before.bytes, after.bytes):
		return nip01.Refuse(nip01.PrefixBlocked, text, q.Bytes, "bytes")
	}
	return nil
}

// above lists the authors whom a default quota does not hold because they are
// above it.
func above(ctx context.Context, c *engine.Conn, q store.Quota) (out []store.Usage, err error) {
	var events, bytes int64
	if q.DefaultEvents {
		events = q.Events
	}
	if q.DefaultBytes {
		bytes = q.Bytes
	}
	err = c.Query(ctx, sqlAbove, []engine.Value{events, bytes}, func(row []engine.Value) error {
		out = append(out, store.Usage{Author: column.HexOf(row[0]), Events: row[1].(int64), Bytes: row[2].(int64)})
		return nil
	})
	return out, err
}
