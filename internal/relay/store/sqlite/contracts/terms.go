package contracts

import (
	"bytes"
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/niptemp"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlSayTerm = `INSERT OR IGNORE INTO contract_terms(contract, poster, worker, said, term, value) VALUES (?, ?, ?, ?, ?, ?)`
	// What a pair was offered: by an open to the worker, or by one to whoever
	// accepts.
	sqlOfferedTerms = `SELECT term, value, worker = ?3 FROM contract_terms WHERE contract = ?1 AND poster = ?2 AND worker IN (?2, ?3) AND said = 0`
	sqlAgreedTerms  = `SELECT o.term, o.value FROM contract_terms AS r JOIN contract_terms AS o
		ON o.contract = ?1 AND o.poster = ?2 AND o.worker IN (?2, ?3) AND o.said = 0 AND o.term = r.term AND o.value = r.value
		WHERE r.contract = ?1 AND r.poster = ?2 AND r.worker = ?3 AND r.said = 1 ORDER BY o.term, o.value`
	// Who has accepted, and whom a poster has named.
	sqlOfferedTo = `SELECT worker FROM contract_terms WHERE contract = ?1 AND poster = ?2 AND said = 1
		UNION SELECT iif(a = ?2, b, a) FROM contract_states WHERE contract = ?1 AND poster = ?2 AND a <> b LIMIT ?3`
	// What was agreed once stays.
	sqlAgree = `INSERT INTO contract_cases(contract, poster, worker, arbitrator, decider, expirer, deadline, n)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
		ON CONFLICT DO UPDATE SET arbitrator = coalesce(arbitrator, ?4), decider = coalesce(decider, ?5),
		expirer = coalesce(expirer, ?6), deadline = coalesce(deadline, ?7)`
	sqlCase = `SELECT arbitrator, decider, expirer, deadline FROM contract_cases WHERE contract = ? AND poster = ? AND worker = ?`
	// What signed terms say takes the place of what was told the API alone.
	sqlStandUnder = `UPDATE contract_states SET arbitrator = ?4, deadline = ?5, due = ?5 WHERE contract = ?1 AND a = ?2 AND b = ?3`
)

// The terms, as they lie in the database.
const (
	termArbitrator = 1 + iota
	termDecider
	termExpirer
	termDeadline
	termOrder // grants nothing, and has no column among the cases
)

// agree writes down what a state event says about who decides, and what its
// pair has agreed on with that. It is called for every state event that is
// taken: imports bring offers and acceptances in any order.
func (w *states) agree(ev *nostr.Event) error {
	said, err := niptemp.ReadState(ev)
	if err != nil || said.Worker != "" {
		return nil // no move of a party
	}
	author, ok1 := column.Hex32(ev.PubKey)
	to, ok2 := column.Hex32(said.To)
	if !ok1 || !ok2 {
		return nil
	}
	switch {
	case said.Status == niptemp.Open:
		return w.offer(said, author, to)
	case said.Status == niptemp.Accepted && said.Previous == niptemp.Open && !bytes.Equal(author, to):
		if err := w.sayTerms(said.Contract, to, author, 1, said.Terms); err != nil {
			return err
		}
		return w.agreeWith(said.Contract, to, author)
	}
	return nil
}

// offer writes down the terms of an open.
func (w *states) offer(said niptemp.StateText, poster, to []byte) error {
	if said.Terms == (niptemp.Terms{}) {
		return nil
	}
	if err := w.sayTerms(said.Contract, poster, to, 0, said.Terms); err != nil {
		return err
	}
	if err := w.placeDecisions(said.Contract, poster, to); err != nil {
		return err
	}
	if !bytes.Equal(poster, to) {
		return w.agreeWith(said.Contract, poster, to)
	}
	if err := w.standUnder(said.Contract, poster, poster); err != nil {
		return err
	}
	return w.c.Each(sqlOfferedTo, []engine.Value{said.Contract, poster, int64(maxPairs)}, func(v engine.Row) error {
		return w.agreeWith(said.Contract, poster, v.Blob(0))
	})
}

func (w *states) sayTerms(contract string, poster, worker []byte, said int64, t niptemp.Terms) error {
	values := map[int64]engine.Value{}
	for term, key := range map[int64]string{termArbitrator: t.Arbitrator, termDecider: t.Decider, termExpirer: t.Expirer, termOrder: t.Order} {
		if raw, ok := column.Hex32(key); ok {
			values[term] = raw
		}
	}
	if t.Deadline != 0 {
		values[termDeadline] = t.Deadline
	}
	for term, value := range values {
		if _, err := w.Exec(sqlSayTerm, contract, poster, worker, said, term, value); err != nil {
			return err
		}
	}
	return nil
}

// agreeWith writes down what a poster has offered and a worker repeated.
func (w *states) agreeWith(contract string, poster, worker []byte) error {
	var both niptemp.Terms
	err := w.c.Each(sqlAgreedTerms, []engine.Value{contract, poster, worker}, func(v engine.Row) error {
		addTerm(&both, v)
		return nil
	})
	if err != nil {
		return err
	}
	both = both.Without(column.HexOf(poster), column.HexOf(worker))
	both.Order = ""
	if both != (niptemp.Terms{}) {
		if _, err := w.Exec(sqlAgree, contract, poster, worker, keyOrNil(both.Arbitrator), keyOrNil(both.Decider), keyOrNil(both.Expirer),
			column.TimeOrNil(both.Deadline), w.events.NextSeq()); err != nil {
			return err
		}
	}
	return w.standUnder(contract, poster, worker)
}

// standUnder gives a pair's state the deadline and the arbitrator of signed
// terms: of an offer, those that it makes; else those that were agreed on.
// Where no open has terms, what was told the API stays.
func (w *states) standUnder(contract string, poster, worker []byte) error {
	offered, err := w.termsOffered(contract, poster, worker)
	if offered.Order = ""; err != nil || offered == (niptemp.Terms{}) {
		return err
	}
	a, b, err := ordered(column.HexOf(poster), column.HexOf(worker))
	if err != nil {
		return err
	}
	row, err := w.c.One(sqlContractState, contract, a, b)
	if err != nil || row == nil {
		return err
	}
	holds := niptemp.Terms{Deadline: offered.Deadline}
	if row[1] != string(niptemp.Open) {
		if holds, err = w.termsAgreed(contract, poster, worker); err != nil {
			return err
		}
	}
	return w.Do(sqlStandUnder, contract, a, b, keyOrNil(holds.Arbitrator), column.TimeOrNil(holds.Deadline))
}

// termsOffered are the terms of a poster's opens to a worker, and to whoever
// accepts; of both, those to the worker.
func (w *states) termsOffered(contract string, poster, worker []byte) (t niptemp.Terms, err error) {
	return offeredTerms(context.Background(), w.c, contract, poster, worker)
}

func offeredTerms(ctx context.Context, c *engine.Conn, contract string, poster, worker []byte) (t niptemp.Terms, err error) {
	var toAll, toWorker niptemp.Terms
	err = c.Query(ctx, sqlOfferedTerms, []engine.Value{contract, poster, worker}, func(v engine.Row) error {
		var said niptemp.Terms
		addTerm(&said, v)
		if v[2] == int64(1) {
			toWorker = toWorker.Greater(said)
		} else {
			toAll = toAll.Greater(said)
		}
		return nil
	})
	return toWorker.Or(toAll), err
}

// termsAgreed are the terms that a pair has agreed on.
func (w *states) termsAgreed(contract string, poster, worker []byte) (niptemp.Terms, error) {
	return agreedTerms(w.c, contract, poster, worker)
}

func agreedTerms(c *engine.Conn, contract string, poster, worker []byte) (t niptemp.Terms, err error) {
	err = c.Each(sqlAgreedTerms, []engine.Value{contract, poster, worker}, func(v engine.Row) error {
		if v.Int(0) == termOrder {
			addTerm(&t, v)
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	row, err := c.One(sqlCase, contract, poster, worker)
	for i, v := range row {
		if v != nil {
			addTerm(&t, []engine.Value{int64(termArbitrator + i), v})
		}
	}
	return t, err
}

// addTerm takes a row of term and value.
func addTerm(t *niptemp.Terms, v engine.Row) {
	switch v.Int(0) {
	case termArbitrator:
		t.Arbitrator = v.Hex(1)
	case termDecider:
		t.Decider = v.Hex(1)
	case termExpirer:
		t.Expirer = v.Hex(1)
	case termDeadline:
		t.Deadline = v.Int(1)
	case termOrder:
		t.Order = v.Hex(1)
	}
}

func keyOrNil(key string) engine.Value {
	if raw, ok := column.Hex32(key); ok {
		return raw
	}
	return nil
}
