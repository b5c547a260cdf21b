package store

import "fmt"

const sqlUsage = `SELECT count(*), coalesce(sum(size), 0) FROM (
	SELECT length(json) AS size FROM events WHERE pubkey = ?1
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

// overQuota is the refusal when the write took its author over the quota, else "". A write that leaves the author with
// no more than before is always allowed: a deletion that frees something, a smaller version. So are imports and requests
// to vanish.
func (w *writer) overQuota(r *record, before amount, imported bool) string {
	q, a := w.s.live.Load().Quota, w.usage.authors[author(r.pubkey)]
	if a == nil || imported || r.ev.Kind == kindVanish {
		return ""
	}
	if q.Events > 0 && a.events > q.Events && a.events > before.events {
		return fmt.Sprintf("blocked: quota: this key may keep %d events here, superseded versions included; delete some", q.Events)
	}
	if q.Bytes > 0 && a.bytes > q.Bytes && a.bytes > before.bytes {
		return fmt.Sprintf("blocked: quota: this key may keep %d bytes here, superseded versions included; delete some", q.Bytes)
	}
	return ""
}
