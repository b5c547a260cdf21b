package contracts

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/niptemp"
)

const (
	sqlIndexEntry = `INSERT INTO contract_entries(contract, author, other, created_at, id, form, type, entry, arrived_at, n, seq, thread)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlEntryCame = `UPDATE contract_entries SET seq = ?6, data = NULL
		WHERE contract = ?1 AND author = ?2 AND other = ?3 AND created_at = ?4 AND id = ?5`
	sqlUnindexEntry = `DELETE FROM contract_entries WHERE seq = ?`
	sqlEntryTaken   = `SELECT 1 FROM contract_entries WHERE contract = ?1 AND entry = ?2
		AND (author = ?3 AND other = ?4 OR author = ?4 AND other = ?3 OR author = ?3 AND other = ?3 OR author = ?4 AND other = ?4)
		AND id <> ?5 LIMIT 1`
	sqlForgetPrivate = `DELETE FROM contract_entries WHERE contract = ? AND author = ? AND other = ? AND seq IS NULL`
	sqlVanishPrivate = `DELETE FROM contract_entries WHERE author = ? AND arrived_at <= ? AND seq IS NULL`
)

// indexEntry gives an entry its place and its number.
func (w *threads) indexEntry(r *record, form store.EntryForm, seq int64) error {
	_, other := pair(r.ev)
	to, ok := column.Hex32(other)
	kind := r.ev.Tags.Find("t")
	if !ok || len(kind) < 2 {
		return nil
	}
	contract := r.ev.Tags.GetD()
	// One that was not taken at first already has its place.
	if n, err := w.Exec(sqlEntryCame, contract, r.pubkey, to, r.created, r.id, seq); err != nil || n > 0 {
		return err
	}
	name, err := w.entryName(r, to)
	if err != nil {
		return err
	}
	thread, err := w.thread(contract, r.pubkey, to)
	if err != nil {
		return err
	}
	n, err := w.next(thread)
	if err != nil {
		return err
	}
	return w.Do(sqlIndexEntry, contract, r.pubkey, to, r.created, r.id, int64(form), kind[1], name, w.Now, n, seq, thread)
}

// entryName is the id of a shared entry: what its author calls it, if that is
// an entry id that the thread does not have, else one made from the event's id.
func (w *threads) entryName(r *record, other []byte) (string, error) {
	own := "mem_" + r.ev.ID[:12]
	tag := r.ev.Tags.Find("agentry:entry")
	if len(tag) < 2 || !store.IsEntryID(tag[1]) {
		return own, nil
	}
	taken, err := w.c.Exists(sqlEntryTaken, r.ev.Tags.GetD(), tag[1], r.pubkey, other, r.id)
	if err != nil || !taken {
		return tag[1], err
	}
	return own, nil
}

// A key's contracts: as the lower key of a pair, as the higher one, and as
// arbitrator. An offer that was accepted is not listed beside its pair, and who
// accepted it too late is no matter of the poster's.
const (
	ofLower = `contract_states INDEXED BY contract_states_of_a
		WHERE a = ?1 AND (shown = 1 OR shown = 2 AND poster <> ?1) AND (?2 = '' OR status = ?2)`
	ofHigher = `contract_states INDEXED BY contract_states_of_b
		WHERE b = ?1 AND a <> ?1 AND (shown = 1 OR shown = 2 AND poster <> ?1) AND (?2 = '' OR status = ?2)`
	ofArbitrator = `contract_states INDEXED BY contract_states_arbitrator
		WHERE arbitrator = ?1 AND a <> ?1 AND b <> ?1 AND shown = 1 AND (?2 = '' OR status = ?2)`

	sqlContracts = `SELECT ` + columnsPair + ` FROM ` + ofLower + `
		UNION ALL SELECT ` + columnsPair + ` FROM ` + ofHigher + `
		UNION ALL SELECT ` + columnsPair + ` FROM ` + ofArbitrator + ` ORDER BY n DESC LIMIT ?3 OFFSET ?4`
	sqlContractsCount = `SELECT (SELECT count(*) FROM ` + ofLower + `) + (SELECT count(*) FROM ` + ofHigher + `)
		+ (SELECT count(*) FROM ` + ofArbitrator + `)`
)

// Contracts lists the contracts of a key as party or arbitrator, those in one
// status when it is not "", the newest first, and how many there are.
func (s *Store) Contracts(ctx context.Context, key, status string, limit, offset int) (out []store.ContractPair, total int, err error) {
	who, ok := column.Hex32(key)
	if !ok {
		return nil, 0, nil
	}
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		n, err := c.Number(sqlContractsCount, who, status)
		if err != nil {
			return err
		}
		total = int(n)
		out, err = pairs(ctx, c, sqlContracts, who, status, int64(limit), int64(offset))
		return err
	})
	return out, total, err
}

const (
	// A state event that may name the key, and whether the contract it belongs
	// to has an end.
	sqlStatesSaying = `SELECT json FROM events WHERE kind = ?1 AND instr(json, ?2) > 0
		UNION ALL SELECT json FROM history WHERE kind = ?1 AND instr(json, ?2) > 0`
	sqlUnfinishedOf = `SELECT 1 FROM contract_states WHERE contract = ?1 AND (a = ?2 OR b = ?2)
		AND status NOT IN ('completed', 'cancelled', 'expired')`
)

// maxNaming is as far as ContractsNaming counts.
const maxNaming = 1000

// ContractsNaming counts the ids of contracts without an end of which a state
// event names a key, in hex, as the one that may let them expire (the tag
// expirer), or that signs their order of arrival (order), up to 1,000. It goes through all state events.
func (s *Store) ContractsNaming(ctx context.Context, pubkey string) (n int, err error) {
	seen := map[string]bool{}
	err = s.db.Whole(ctx, func(ctx context.Context, c *engine.Conn) error {
		args := []engine.Value{int64(niptemp.KindState), []byte(pubkey)}
		return c.Query(ctx, sqlStatesSaying, args, func(v engine.Row) error {
			ev, err := column.Event(v.Blob(0))
			if err != nil {
				return nil // it is damaged
			}
			id := ev.Tags.GetD()
			if ev.Tags.FindWithValue(expirerTag, pubkey) == nil && ev.Tags.FindWithValue(orderTag, pubkey) == nil || seen[id] {
				return nil
			}
			author, _ := column.Hex32(ev.PubKey)
			unfinished, err := c.Exists(sqlUnfinishedOf, id, author)
			if err != nil || !unfinished {
				return err
			}
			if seen[id] = true; len(seen) >= maxNaming {
				return engine.ErrStop
			}
			return nil
		})
	})
	return len(seen), err
}

// expirerTag names, on a state event, the key that may let the contract expire
// (NIP-TEMP).
const expirerTag = "expirer"

// orderTag names the key that signs the order of arrival.
const orderTag = "order"
