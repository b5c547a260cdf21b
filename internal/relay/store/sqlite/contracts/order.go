package contracts

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/niptemp"
)

// What comes into a thread gets the thread's next number when it arrives, and
// keeps it: states, shared entries and, where one is gone for good, its gap. A
// private entry has the number after which it came, and a count of its author's
// own.

const (
	sqlThreadOf   = `SELECT thread FROM contract_threads WHERE contract = ? AND a = ? AND b = ?`
	sqlFreeThread = `SELECT coalesce(max(thread), 0) + 1 FROM contract_numbers`
	sqlNewThread  = `INSERT INTO contract_threads(contract, a, b, thread) VALUES (?, ?, ?, ?)`
	sqlCountFrom  = `INSERT INTO contract_numbers(thread, last) VALUES (?, ?) ON CONFLICT DO NOTHING`
	sqlNextN      = `UPDATE contract_numbers SET last = last + 1 WHERE thread = ?`
	sqlLastN      = `SELECT last FROM contract_numbers WHERE thread = ?`

	sqlAddMove = `INSERT INTO contract_moves(thread, n, contract, author, other, id, created_at, arrived_at, status, previous, seq)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlMoveBySeq = `SELECT thread, n, arrived_at, author, other, status, previous, created_at, contract, id FROM contract_moves WHERE seq = ?`
	sqlUnmove    = `DELETE FROM contract_moves WHERE seq = ?`
	sqlGap       = `INSERT OR IGNORE INTO contract_gaps(thread, n, arrived_at, type, role, status, previous, created_at, parties)
		VALUES (?, ?, ?, 'state', ?, ?, ?, ?, ?)`
	// What a decision did stays; whose it was, and what he said, goes with his
	// event.
	sqlForgetDecision = `UPDATE contract_decisions SET key = NULL, note = '', event = x'' WHERE contract = ? AND a = ? AND b = ? AND event = ?`
	sqlForgetVerdict  = `UPDATE contract_verdicts SET note = '' WHERE contract = ? AND id = ?`
	// The pair of a thread, rather than the offer that it took.
	sqlPairOfThread = `SELECT a, b FROM contract_threads WHERE thread = ? ORDER BY a = b LIMIT 1`
	sqlPartiesKey   = `SELECT value FROM meta WHERE key = 'parties'`
	sqlPrivateK     = `SELECT coalesce(max(k), 0) + 1 FROM contract_entries INDEXED BY contract_entries_private
		WHERE author = ? AND contract = ? AND form = 2 AND seq IS NULL`
)

// Stored gives what is stored under seq of contract memory, as an event or in
// history, its place in its thread. An event without the tags of contract
// memory, which the write policy lets through nowhere, has none.
func (w *Writer) Stored(ev *nostr.Event, class gate.Class, seq int64) error {
	r, err := newRecord(ev)
	if err != nil {
		return err
	}
	switch r.ev.Kind {
	case niptemp.KindEntry:
		return w.indexEntry(r, formOf(class), seq)
	case niptemp.KindState:
		return w.indexMove(r, seq)
	}
	return nil
}

// Removed takes the place away when what is stored under seq goes for good, and
// leaves a gap. An event that becomes history keeps it.
func (w *Writer) Removed(kind int, seq int64) error {
	if kind != column.AnyKind && kind != niptemp.KindEntry && kind != niptemp.KindState {
		return nil
	}
	w.forgetting = true // also when this is undone: then housekeeping finds nothing
	if kind != niptemp.KindState {
		n, err := w.Exec(sqlUnindexEntry, seq) // the trigger contract_entries_gone leaves the gap
		if err != nil || n > 0 || kind == niptemp.KindEntry {
			return err
		}
	}
	return w.gapOfMove(seq)
}

// thread finds which numbers a pair counts with, and begins a thread for a pair
// that has none.
func (w *threads) thread(contract string, k1, k2 []byte) (thread int64, err error) {
	a, b, err := standIns(w.c, contract, k1, k2)
	if err != nil {
		return 0, err
	}
	if thread, err = w.c.Number(sqlThreadOf, contract, a, b); err != nil || thread != 0 {
		return thread, err
	}
	var with int64 // the thread that stands for the pair already
	if bytes.Equal(a, b) {
		with, err = w.c.Number(sqlTaker, contract, a)
	} else {
		with, err = w.offered(contract, a, b)
	}
	if err != nil {
		return 0, err
	}
	return w.newThread(contract, a, b, with)
}

// newThread begins a pair's count, or has it count with another one.
func (w *threads) newThread(contract string, a, b []byte, with int64) (int64, error) {
	if with != 0 {
		if _, err := w.Exec(sqlNewThread, contract, a, b, with); err != nil || !bytes.Equal(a, b) {
			return with, err
		}
		last, err := w.c.Number(sqlFurthest, contract, a)
		if err == nil {
			_, err = w.Exec(sqlReached, with, last) // what he wrote to himself is part of all his pairs
		}
		return with, err
	}
	thread, err := w.c.Number(sqlFreeThread)
	if err != nil {
		return 0, err
	}
	if _, err := w.Exec(sqlCountFrom, thread, int64(0)); err != nil {
		return 0, err
	}
	_, err = w.Exec(sqlNewThread, contract, a, b, thread)
	return thread, err
}

// correspondents are the keys between which contract memory counts: its author
// and whom it is addressed to.
func correspondents(ev *nostr.Event) (k1, k2 []byte, ok bool) {
	who, ok := column.Hex32(ev.PubKey)
	for _, t := range ev.Tags {
		if len(t) >= 2 && t[0] == "p" && k2 == nil {
			k2, _ = column.Hex32(t[1])
		}
	}
	return who, k2, ok && k2 != nil
}

// indexMove gives a state its number: of a decision, in the thread of those
// whom it is about.
func (w *threads) indexMove(r *record, seq int64) error {
	k1, k2, ok := correspondents(r.ev)
	if !ok {
		return nil
	}
	to := k2
	said, err := niptemp.ReadState(r.ev)
	if err != nil {
		said.Contract = r.ev.Tags.GetD() // stored before today's rules: it has a place all the same
	}
	ev, err := w.masked(r.ev)
	if err != nil {
		return err
	}
	if poster, worker, decides, err := w.decidedPair(ev); err != nil {
		return err
	} else if decides {
		k1, k2 = poster, worker
	}
	thread, err := w.thread(said.Contract, k1, k2)
	if err != nil {
		return err
	}
	n, err := w.next(thread)
	if err != nil {
		return err
	}
	return w.Do(sqlAddMove, thread, n, said.Contract, r.pubkey, to, r.id, r.created, w.Now, string(said.Status), string(said.Previous), seq)
}

// gapOfMove leaves of a state that goes what says neither whose it was nor its
// id. What the contract is in stays: the states of pairs outlive their events.
func (w *threads) gapOfMove(seq int64) error {
	row, err := w.c.One(sqlMoveBySeq, seq)
	if err != nil || row == nil {
		return err
	}
	who, contract := row.Blob(3), row.Text(8)
	a, b, err := standIns(w.c, contract, who, row.Blob(4))
	if err != nil {
		return err
	}
	if who, err = standIn(w.c, contract, who); err != nil {
		return err
	}
	role := ""
	if own, err := w.c.Number(sqlThreadOf, row[8], a, b); err != nil {
		return err
	} else if own != row[0] { // a decision
		of, err := w.c.One(sqlPairOfThread, row[0])
		if err != nil || of == nil {
			return err
		}
		a, b = of.Blob(0), of.Blob(1)
		if err := w.forgetDecision(row[8], a, b, row[9]); err != nil {
			return err
		}
	} else if role, err = w.roleOf(row[8], a, b, who); err != nil {
		return err
	}
	secret, err := w.partiesKey()
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(a)
	mac.Write(b)
	return w.Run(engine.Do(sqlUnmove, seq), engine.Do(sqlGap, row[0], row[1], row[2], role, row[5], row[6], row[7], mac.Sum(nil)))
}

// forgetDecision leaves of a decision whose event goes that there was one.
func (w *threads) forgetDecision(contract engine.Value, a, b []byte, id engine.Value) error {
	return w.Run(engine.Do(sqlForgetDecision, contract, a, b, id), engine.Do(sqlForgetVerdict, contract, id))
}

// roleOf is what a key is between two, "" where it is not known.
func (w *threads) roleOf(contract engine.Value, a, b, who []byte) (string, error) {
	if bytes.Equal(a, b) {
		return "poster", nil
	}
	poster, err := w.c.One(sqlPoster, contract, a, b)
	switch {
	case err != nil || poster == nil:
		return "", err
	case bytes.Equal(poster[0].([]byte), who):
		return "poster", nil
	}
	return "worker", nil
}

// formOf is how an entry's event lies in its thread.
func formOf(class gate.Class) store.EntryForm {
	if class == gate.Sealed {
		return store.EntrySealed
	}
	return store.EntryShared
}
