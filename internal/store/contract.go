package store

import (
	"bytes"
	"errors"
	"fmt"

	"engramd/nips/niptemp"
)

const (
	sqlContractState = `SELECT poster, status, created_at, event FROM contract_states WHERE contract = ? AND a = ? AND b = ?`
	sqlSetState      = `INSERT INTO contract_states(contract, a, b, poster, status, created_at, event, n, at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT coalesce(max(n), 0) + 1 FROM contract_states), ?8)
		ON CONFLICT (contract, a, b) DO UPDATE SET poster = ?4, status = ?5, created_at = ?6, event = ?7`
	// A pair that accepts an offer, or is named in it, stands under its terms; the second one to accept stands behind the first.
	sqlFromOffer = `UPDATE contract_states SET (shown, api, deadline, arbitrator, due) =
		(SELECT CASE o.shown WHEN 0 THEN 2 ELSE 1 END, o.api, o.deadline, o.arbitrator, o.due
			FROM contract_states AS o WHERE o.contract = ?1 AND o.a = ?4 AND o.b = ?4)
		WHERE contract = ?1 AND a = ?2 AND b = ?3 AND EXISTS (SELECT 1 FROM contract_states WHERE contract = ?1 AND a = ?4 AND b = ?4)`
	sqlOfferTaken = `UPDATE contract_states SET shown = 0 WHERE contract = ?1 AND a = ?2 AND b = ?2 AND shown = 1 AND EXISTS
		(SELECT 1 FROM contract_states WHERE contract = ?1 AND poster = ?2 AND a <> b)`
)

// lifecycle judges contract memory against the state of its pair (30-nip-temp) and, for a 30091, moves that state, in
// the transaction that stores the event: of two moves that wait together, the first wins and the second is judged by
// what it left. The string is the refusal for the client. Imports and restores are not judged; the newest state wins.
//
// The states outlive their events: deleting or expiring a 30091 does not reopen a contract.
func (w *writer) lifecycle(r *record, imported bool) (refusal string, err error) {
	switch r.ev.Kind {
	case niptemp.KindEntry:
		if imported {
			return "", nil
		}
		states, err := w.statesFor(r)
		if err != nil {
			return "", err
		}
		return checkEntry(states, r)
	case niptemp.KindState:
		refusal, err := w.stateEvent(r, imported)
		if err != nil || refusal != "" {
			return refusal, err
		}
		if err := w.agree(r.ev); err != nil {
			return "", err
		}
		return "", w.settle(r.ev.Tags.GetD())
	}
	return "", nil
}

// stateEvent takes a 30091: a decision of somebody who is no party, or a party's move.
func (w *writer) stateEvent(r *record, imported bool) (string, error) {
	if mine, refusal, err := w.verdict(r, imported); mine || err != nil {
		return refusal, err
	}
	states, err := w.statesFor(r)
	if err != nil {
		return "", err
	}
	if imported {
		return "", w.adopt(states, r)
	}
	return w.move(states, r)
}

// checkEntry refuses an entry that no state in question allows.
func checkEntry(states []*niptemp.State, r *record) (string, error) {
	var first error
	for _, s := range states {
		err := s.CheckEntry(r.ev)
		if err == nil {
			return "", nil
		}
		if first == nil {
			first = err
		}
	}
	return refusalOf(first)
}

// move applies a state event to the first state in question that allows it.
func (w *writer) move(states []*niptemp.State, r *record) (string, error) {
	var first error
	for _, s := range states {
		next, err := niptemp.Next(s, r.ev)
		if err == nil {
			return "", w.setState(r, next)
		}
		if first == nil {
			first = err
		}
	}
	return refusalOf(first)
}

func (w *writer) adopt(states []*niptemp.State, r *record) error {
	next, changed := niptemp.Adopt(states[0], r.ev)
	if !changed {
		return nil
	}
	return w.setState(r, next)
}

// refusalOf is the text of a refusal; other errors are failures.
func refusalOf(err error) (string, error) {
	var refusal *niptemp.Refusal
	if errors.As(err, &refusal) {
		return refusal.Error(), nil
	}
	return "", err
}

// statesFor lists the states that a contract event is judged by: that of its pair; if there is none, the open that the
// author addressed to himself and, for a state, that of the counterparty, which it may accept; if there is none either, a
// nil state. An entry is not judged by the counterparty's own open: whether there is one is not for its author to learn.
func (w *writer) statesFor(r *record) ([]*niptemp.State, error) {
	who, other := pair(r.ev)
	s, err := w.state(r, who, other)
	if err != nil || s != nil || who == other {
		return []*niptemp.State{s}, err
	}
	var out []*niptemp.State
	keys := []string{who, other}
	if r.ev.Kind == niptemp.KindEntry {
		keys = keys[:1]
	}
	for _, k := range keys {
		s, err := w.state(r, k, k)
		if err != nil {
			return nil, err
		}
		if s != nil {
			out = append(out, s)
		}
	}
	if out == nil {
		out = append(out, nil)
	}
	return out, nil
}

// state reads the state of the record's contract between two keys, nil if none is known.
func (w *writer) state(r *record, k1, k2 string) (*niptemp.State, error) {
	return w.stateOf(r.ev.Tags.GetD(), k1, k2)
}

func (w *writer) stateOf(contract, k1, k2 string) (*niptemp.State, error) {
	a, b, err := ordered(k1, k2)
	if err != nil {
		return nil, err
	}
	row, err := w.c.one(sqlContractState, contract, a, b)
	if err != nil || row == nil {
		return nil, err
	}
	status, _ := row[1].(string)
	s := &niptemp.State{
		Contract: contract, Poster: hexOf(row[0]), Status: niptemp.Status(status),
		CreatedAt: row[2].(int64), EventID: hexOf(row[3]),
	}
	switch {
	case k1 == k2:
	case s.Poster == k1:
		s.Worker = k2
	default:
		s.Worker = k1
	}
	return s, nil
}

// setState stores the state that r led to, under r's pair.
func (w *writer) setState(r *record, s niptemp.State) error {
	a, b, err := ordered(pair(r.ev))
	if err != nil {
		return err
	}
	poster, ok1 := lowerHex32(s.Poster)
	event, ok2 := lowerHex32(s.EventID)
	if !ok1 || !ok2 {
		return fmt.Errorf("contract state names no keys")
	}
	had, err := w.c.exists(sqlContractState, s.Contract, a, b)
	if err != nil {
		return err
	}
	if _, err = w.exec(sqlSetState, s.Contract, a, b, poster, string(s.Status), s.CreatedAt, event, w.now); err != nil || had {
		return err
	}
	if !bytes.Equal(a, b) {
		if _, err := w.exec(sqlFromOffer, s.Contract, a, b, poster); err != nil {
			return err
		}
	}
	_, err = w.exec(sqlOfferTaken, s.Contract, poster)
	return err
}

// ordered decodes two keys, the lower one first.
func ordered(k1, k2 string) (a, b []byte, err error) {
	a, ok1 := lowerHex32(k1)
	b, ok2 := lowerHex32(k2)
	if !ok1 || !ok2 {
		return nil, nil, errors.New("a contract party is not 64 lower-case hex digits")
	}
	if bytes.Compare(a, b) > 0 {
		a, b = b, a
	}
	return a, b, nil
}
