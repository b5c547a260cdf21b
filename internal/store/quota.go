package store

import "fmt"

const sqlUsage = `SELECT count(*), coalesce(sum(size), 0) FROM (
	SELECT length(json) AS size FROM events WHERE author = (SELECT num FROM pubkeys WHERE key = ?1)
	UNION ALL SELECT length(json) FROM history WHERE pubkey = ?1)`

// usage holds what authors keep here, events and history together, for those that wrote while a quota was in force.
type usage struct {
	authors map[author]*amount
}

type amount struct{ events, bytes int64 }

// maxUsage bounds the counters in memory; beyond it they are all dropped and read anew on demand.
const maxUsage = 100_000

func (u *usage) forget(list []author) {
	for _, a := range list {
		delete(u.authors, a)
	}
}

func (u *usage) clear() { u.authors = nil }

// usageBefore loads the counters of the record's author, if there is a quota, and returns what they are now.
func (w *writer) usageBefore(r *record) (amount, error) {
	if w.s.live.Load().Quota == (Quota{}) {
		w.usage.clear()
		return amount{}, nil
	}
	who := author(r.pubkey)
	if a := w.usage.authors[who]; a != nil {
		return *a, nil
	}
	row, err := w.c.one(sqlUsage, r.pubkey)
	if err != nil {
		return amount{}, err
	}
	if w.usage.authors == nil || len(w.usage.authors) >= maxUsage {
		w.usage.authors = map[author]*amount{}
	}
	a := amount{events: row[0].(int64), bytes: row[1].(int64)}
	w.usage.authors[who] = &a
	return a, nil
}

// count adjusts an author's counters, if they are held.
func (w *writer) count(who author, events, bytes int64) {
	if a := w.usage.authors[who]; a != nil {
		a.events += events
		a.bytes += bytes
		w.stage.touched = append(w.stage.touched, who)
	}
}

// surelyOverQuota is the refusal of a write that frees nothing, made before it changes anything; else "".
func (w *writer) surelyOverQuota(r *record, before amount, imported bool) string {
	if r.d != nil || r.ev.Kind == kindDeletion || r.ev.Kind == kindVanish || imported {
		return ""
	}
	return w.s.live.Load().Quota.refusal(before, amount{before.events + 1, before.bytes + int64(len(r.json))})
}

// overQuota is the refusal when the write took its author over the quota, else "". Imports and requests to vanish are
// always allowed.
func (w *writer) overQuota(r *record, before amount, imported bool) string {
	after := w.usage.authors[author(r.pubkey)]
	if after == nil || imported || r.ev.Kind == kindVanish {
		return ""
	}
	return w.s.live.Load().Quota.refusal(before, *after)
}

// refusal is the answer to a write that leaves its author over the quota, "" if it may stand. One that leaves him with
// no more than before may: a deletion that frees something, a smaller version.
func (q Quota) refusal(before, after amount) string {
	const text = "blocked: quota: this key may keep %d %s here, superseded versions included; delete some"
	switch {
	case q.Events > 0 && after.events > q.Events && after.events > before.events:
		return fmt.Sprintf(text, q.Events, "events")
	case q.Bytes > 0 && after.bytes > q.Bytes && after.bytes > before.bytes:
		return fmt.Sprintf(text, q.Bytes, "bytes")
	}
	return ""
}
