package apply

import (
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

const (
	sqlVanished     = `SELECT 1 FROM vanished WHERE pubkey = ? AND until >= ?`
	sqlEverVanished = `SELECT 1 FROM vanished WHERE pubkey = ?`
	sqlSetVanished  = `INSERT INTO vanished(pubkey, until, request) VALUES (?1, ?2, ?3)
		ON CONFLICT (pubkey) DO UPDATE SET until = max(until, ?2), request = ?3`
	sqlVanishDone   = `UPDATE vanished SET request = NULL WHERE pubkey = ? AND request = ?`
	sqlVanishOpen   = `SELECT pubkey, until, request FROM vanished WHERE request IS NOT NULL`
	sqlVanishEvents = `SELECT seq FROM events WHERE author = ` + record.NumOf + ` AND created_at <= ? AND seq <> ? LIMIT ?`
	sqlVanishPast   = `SELECT seq, pubkey, length(json) FROM history WHERE pubkey = ? AND created_at <= ? LIMIT ?`
	sqlVanishWraps  = `SELECT seq, created_at FROM tags WHERE name = 'p' AND value = ` + record.NumOf + ` AND class = 4 AND kind = 1059 AND created_at <= ?
		ORDER BY created_at DESC LIMIT ?`
)

// VanishChunk bounds how many rows of a vanishing author one transaction
// removes, beside vanishCost, and so how long others wait: about 30 ms on the
// machine the benchmarks were written on.
const (
	VanishChunk = 1000
	vanishCost  = 2 * engine.StepCost
)

// few calls remove for rows until they have cost as much as one transaction
// may, and returns how many it was called for: limit, as if there were more, if
// it was not called for all.
func (rm *remover) few(text string, args []engine.Value, limit int, remove func(row engine.Row) error) (n int, err error) {
	start := rm.Extra
	err = rm.Conn().Each(text, args, func(row engine.Row) error {
		if n++; rm.Extra-start > vanishCost {
			n = limit
			return nil
		}
		return remove(row)
	})
	return min(n, limit), err
}

// hasVanished reports whether NIP-62 keeps the event out: its author asked to
// vanish at its time or later, or it is a gift wrap to a key that did.
func (rm *remover) hasVanished(r *record.Record) (bool, error) {
	if gone, err := rm.Conn().Exists(sqlVanished, r.Pubkey, r.Created); err != nil || gone {
		return gone, err
	}
	if r.Event.Kind != record.KindGiftWrap {
		return false, nil
	}
	for _, t := range r.Tags {
		if p, ok := t.Value.([]byte); ok && t.Name == "p" {
			if gone, err := rm.Conn().Exists(sqlVanished, p, r.Created); err != nil || gone {
				return gone, err
			}
		}
	}
	return false, nil
}

// vanish does what a request to vanish asks for: everything of its author up to
// its time goes, history and deletion requests included, and gift wraps
// addressed to him; the request itself stays. Its return is blocked at once;
// what is there goes in chunks, other writers in between, and the answer is
// given after the last. A crash in between is made good when the store opens.
//
// Private entries go, and what waits in the outbox. Contract states stay: they
// belong to the pair and hold no content. Where nothing of the other party is
// left that names him, a hash stands for his key there (contracts). So
// does an agent's name, which nobody else is to take and pass for him with, and
// so do the author's tombstones, which keep what he deleted from coming back.
func (rm *remover) vanish(r *record.Record, seq int64) error {
	if _, err := rm.Exec(sqlSetVanished, r.Pubkey, r.Created, seq); err != nil {
		return err
	}
	rm.Known.vanished = true
	v := &vanishing{pubkey: r.Pubkey, until: r.Created, request: seq, wrapsUntil: r.Created}
	more, err := v.step(rm)
	if err == nil && more {
		rm.StartJob(v.job(rm, rm.member()))
	}
	return err
}

// vanishing is one request on its way.
type vanishing struct {
	pubkey     []byte
	until      int64
	request    int64 // seq of the request
	wrapsUntil int64 // gift wraps later than this are gone
}

func (v *vanishing) job(rm *remover, m *engine.Member) *engine.Job {
	step := func() (bool, error) { return v.step(rm) }
	return &engine.Job{Member: m, Step: step, Save: func() func() { was := *v; return func() { *v = was } }}
}

// step removes up to vanishChunk rows and reports whether more may be there.
func (v *vanishing) step(rm *remover) (more bool, err error) {
	left := VanishChunk
	for _, part := range []func(*remover, int) (int, error){v.events, v.history, v.quarantine, v.wraps} {
		n, err := part(rm, left)
		if err != nil {
			return false, err
		}
		if left -= n; left <= 0 {
			return true, nil
		}
	}
	if more, err := rm.Others.vanished(v.pubkey, v.until); err != nil || more {
		return more, err
	}
	_, err = rm.Exec(sqlVanishDone, v.pubkey, v.request)
	return false, err
}

func (v *vanishing) events(rm *remover, limit int) (int, error) {
	return rm.few(sqlVanishEvents, []engine.Value{v.pubkey, v.until, v.request, int64(limit)}, limit, func(row engine.Row) error {
		return rm.RemoveEvent(row[0].(int64), byVanish)
	})
}

func (v *vanishing) history(rm *remover, limit int) (int, error) {
	return rm.RemoveHistory(byVanish, sqlVanishPast, v.pubkey, v.until, int64(limit))
}

func (v *vanishing) quarantine(rm *remover, limit int) (int, error) {
	return rm.Unquarantine(sqlUnquarantineAuthor, v.pubkey, v.until, int64(limit))
}

func (v *vanishing) wraps(rm *remover, limit int) (int, error) {
	return rm.few(sqlVanishWraps, []engine.Value{v.pubkey, v.wrapsUntil, int64(limit)}, limit, func(row engine.Row) error {
		v.wrapsUntil = row[1].(int64)
		return rm.RemoveEvent(row[0].(int64), byVanish)
	})
}

// EverVanished reports whether a key asked to vanish, at whatever time.
func (rm *remover) EverVanished(key []byte) (bool, error) {
	if !rm.Known.vanished {
		return false, nil
	}
	return rm.Conn().Exists(sqlEverVanished, key)
}

// SomeVanished reports whether anybody ever asked to vanish.
func (rm *remover) SomeVanished() bool { return rm.Known.vanished }

// OpenVanishes makes jobs of the requests that were left unfinished.
func (rm *remover) OpenVanishes() (left []Unfinished, err error) {
	err = rm.Conn().Each(sqlVanishOpen, nil, func(row engine.Row) error {
		v := &vanishing{pubkey: row[0].([]byte), until: row[1].(int64), request: row[2].(int64), wrapsUntil: row[1].(int64)}
		left = append(left, Unfinished{v.request, v.job(rm, nil)})
		return nil
	})
	return left, err
}
