package contracts

import (
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/niptemp"
)

// What a poster wrote to himself counts with the pair that first took his offer, or was named in it, and is part of his further
// pairs too. These have threads of their own, and draw their numbers from the offer's: so no number stands for two things in any
// of them, and what another pair says is a hole in theirs. While there is nothing that he wrote to himself, each counts alone.

const (
	// The pair that first took a key's offer, or was named in it.
	sqlTaker = `SELECT t.thread FROM (SELECT a, b, n FROM contract_states WHERE contract = ?1 AND a = ?2 AND poster = ?2 AND b <> ?2
			UNION ALL SELECT a, b, n FROM contract_states WHERE contract = ?1 AND b = ?2 AND poster = ?2 AND a <> ?2) AS s
		JOIN contract_threads AS t ON t.contract = ?1 AND t.a = s.a AND t.b = s.b ORDER BY s.n LIMIT 1`
	sqlPoster = `SELECT poster FROM contract_states WHERE contract = ? AND a = ? AND b = ?`
	sqlShared = `SELECT 1 FROM contract_threads WHERE thread = ?1 AND NOT (a = ?2 AND b = ?2)`

	sqlJoinThread = `UPDATE contract_threads SET thread = ?4 WHERE contract = ?1 AND a = ?2 AND b = ?3`
	sqlJoinMoves  = `UPDATE contract_moves SET thread = ?2, n = n + ?3 WHERE thread = ?1`
	sqlJoinGaps   = `UPDATE contract_gaps SET thread = ?2, n = n + ?3 WHERE thread = ?1`
	sqlJoinSaid   = `UPDATE contract_entries SET thread = ?3, n = n + ?4 WHERE contract = ?1 AND thread = ?2`
	sqlJoinLast   = `UPDATE contract_numbers SET last = last + (SELECT last FROM contract_numbers WHERE thread = ?1) WHERE thread = ?2`
	sqlEndThread  = `DELETE FROM contract_numbers WHERE thread = ?`

	// From which thread a further pair draws its numbers.
	sqlCounter = `SELECT o.thread FROM contract_threads AS t JOIN contract_states AS s ON s.contract = t.contract AND s.a = t.a AND s.b = t.b
		JOIN contract_threads AS o ON o.contract = t.contract AND o.a = s.poster AND o.b = s.poster WHERE t.thread = ?1 AND t.a <> t.b AND o.thread <> ?1 LIMIT 1`
	sqlReached = `UPDATE contract_numbers SET last = max(last, ?2) WHERE thread = ?1`
	// What a poster's pairs have come to.
	sqlFurthest = `SELECT max(c.last) FROM (SELECT a, b FROM contract_states WHERE contract = ?1 AND a = ?2 AND poster = ?2 AND b <> ?2
			UNION ALL SELECT a, b FROM contract_states WHERE contract = ?1 AND b = ?2 AND poster = ?2 AND a <> ?2) AS s
		JOIN contract_threads AS t ON t.contract = ?1 AND t.a = s.a AND t.b = s.b JOIN contract_numbers AS c ON c.thread = t.thread`
)

// counter is the thread whose count a thread draws its numbers from: its own, but for a further pair.
func (w *threads) counter(thread int64) (int64, error) {
	offer, err := w.c.Number(sqlCounter, thread)
	if err == nil && offer == 0 {
		offer = thread
	}
	return offer, err
}

// next draws a thread's next number.
func (w *threads) next(thread int64) (int64, error) {
	from, err := w.counter(thread)
	if err != nil {
		return 0, err
	}
	if from != thread { // behind its own as well
		last, err := w.c.Number(sqlLastN, thread)
		if err != nil {
			return 0, err
		}
		if _, err := w.Exec(sqlReached, from, last); err != nil {
			return 0, err
		}
	}
	if _, err := w.Exec(sqlNextN, from); err != nil {
		return 0, err
	}
	n, err := w.c.Number(sqlLastN, from)
	if err == nil && from != thread {
		_, err = w.Exec(sqlReached, thread, n)
	}
	return n, err
}

// lastNumber is the last one that was drawn where a thread draws its own.
func (w *threads) lastNumber(thread int64) (int64, error) {
	from, err := w.counter(thread)
	if err != nil {
		return 0, err
	}
	return w.c.Number(sqlLastN, from)
}

// offered is the thread of the offer that a pair with a state took before all others, 0 for none.
func (w *threads) offered(contract string, a, b []byte) (int64, error) {
	row, err := w.c.One(sqlPoster, contract, a, b)
	if err != nil || row == nil {
		return 0, err
	}
	offer, err := w.c.Number(sqlThreadOf, contract, row[0], row[0])
	if err != nil || offer == 0 {
		return 0, err
	}
	taken, err := w.c.Exists(sqlShared, offer, row[0])
	if err != nil || taken {
		return 0, err
	}
	return offer, nil
}

// joinOffer puts a pair that has its first state now behind the offer that it took: what the two wrote before comes after what
// the offer has, in the order in which it came. Where another took the offer first, it comes behind what has numbers from there.
func (w *threads) joinOffer(contract string, a, b []byte) error {
	own, err := w.c.Number(sqlThreadOf, contract, a, b)
	if err != nil || own == 0 {
		return err
	}
	offer, err := w.offered(contract, a, b)
	if err != nil {
		return err
	}
	if offer != 0 {
		behind, err := w.c.Number(sqlLastN, offer)
		if err != nil {
			return err
		}
		return w.moveThread(contract, a, b, own, offer, behind)
	}
	if offer, err = w.counter(own); err != nil || offer == own {
		return err
	}
	behind, err := w.c.Number(sqlLastN, offer)
	if err != nil {
		return err
	}
	fresh, err := w.c.Number(sqlFreeThread)
	if err != nil {
		return err
	}
	if _, err := w.Exec(sqlCountFrom, fresh, behind); err != nil {
		return err
	}
	if err := w.moveThread(contract, a, b, own, fresh, behind); err != nil {
		return err
	}
	last, err := w.c.Number(sqlLastN, fresh)
	if err == nil {
		_, err = w.Exec(sqlReached, offer, last)
	}
	return err
}

// moveThread gives what a pair has in its own thread numbers of another one, behind those there.
func (w *threads) moveThread(contract string, a, b []byte, own, into, behind int64) error {
	return w.Run(
		engine.Do(sqlJoinMoves, own, into, behind), engine.Do(sqlJoinGaps, own, into, behind), engine.Do(sqlJoinSaid, contract, own, into, behind),
		engine.Do(sqlJoinLast, own, into), engine.Do(sqlEndThread, own), engine.Do(sqlJoinThread, contract, a, b, into),
	)
}

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
	return w.c.Each(sqlPlacedElse, []engine.Value{contract, poster, to, int64(maxVerdicts)}, func(v engine.Row) error {
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
