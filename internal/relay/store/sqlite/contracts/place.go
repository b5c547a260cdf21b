package contracts

import (
	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/niptemp"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	// Whom an open of a poster's is to that names a key for what it says (?5:
	// that the deadline is over): of a decision about two (?4 is the worker)
	// the open to either, of the expiry of an offer any.
	sqlNamedBy = `SELECT worker FROM contract_terms WHERE contract = ?1 AND poster = ?2 AND said = 0 AND value = ?3
		AND term < 4 AND (term = 3) = ?5 AND (?4 IS NULL OR worker IN (?2, ?4)) LIMIT 1`
	// What those have said whom a poster's opens to somebody (?3), or to
	// whoever accepts, name for it.
	sqlPlacedElse = `SELECT DISTINCT v.poster, v.worker, coalesce((SELECT seq FROM events WHERE id = v.id), (SELECT seq FROM history WHERE id = v.id))
		FROM contract_verdicts AS v JOIN contract_terms AS t
		ON t.contract = ?1 AND t.poster = ?2 AND t.worker = ?3 AND t.said = 0 AND t.term < 4 AND (t.term = 3) = (v.status = 'expired') AND t.value = v.author
		WHERE v.contract = ?1 AND v.poster = ?2 AND (v.worker IN (?2, ?3) OR ?2 = ?3) LIMIT ?4`
	sqlPlaceMove = `UPDATE contract_moves SET thread = ?2, n = ?3 WHERE seq = ?1`
)

// decidedPair are the keys that a decision is about, of the expiry of an offer
// those of the open. ok is false for the move of a party, and for what somebody
// says whom the poster has not named: that is no part of their thread.
func (w *threads) decidedPair(ev *nostr.Event) (poster, worker []byte, ok bool, err error) {
	d, shaped := niptemp.DecisionOf(ev)
	if !shaped {
		return nil, nil, false, nil
	}
	poster, _ = column.Hex32(d.Poster)
	author, _ := column.Hex32(d.Author)
	row, err := w.c.One(sqlNamedBy, d.Contract, poster, author, keyOrNil(d.Worker), column.Bool(d.Status == niptemp.Expired))
	if err != nil || row == nil {
		return nil, nil, false, err
	}
	if worker, ok = column.Hex32(d.Worker); !ok {
		worker, ok = row[0].([]byte)
	}
	return poster, worker, ok, nil
}

// placeDecisions gives what was decided about an offer, and came before it, its
// place in the thread.
func (w *threads) placeDecisions(contract string, poster, to []byte) error {
	return w.c.Each(sqlPlacedElse, []engine.Value{contract, poster, to, int64(maxVerdicts)}, func(v []engine.Value) error {
		worker, _ := v[1].([]byte)
		if string(worker) == string(poster) {
			worker = to
		}
		placed, err := w.c.One(sqlMoveBySeq, v[2])
		if err != nil || placed == nil {
			return err
		}
		thread, err := w.thread(contract, poster, worker)
		if err != nil || placed[0] == engine.Value(thread) {
			return err
		}
		n, err := w.next(thread)
		if err == nil {
			_, err = w.Exec(sqlPlaceMove, v[2], thread, n)
		}
		return err
	})
}
