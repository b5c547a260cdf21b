package contracts

import (
	"bytes"
	"errors"
	"fmt"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/niptemp"
)

// The table contract_states: where each pair of keys stands, whatever becomes of
// its events.

const (
	sqlContractState = `SELECT poster, status, created_at, event, unproven FROM contract_states WHERE contract = ? AND a = ? AND b = ?`
	sqlSetState      = `INSERT INTO contract_states(contract, a, b, poster, status, created_at, event, unproven, n, at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT coalesce(max(n), 0) + 1 FROM contract_states), ?9)
		ON CONFLICT (contract, a, b) DO UPDATE SET poster = ?4, status = ?5, created_at = ?6, event = ?7, unproven = ?8`
	// A pair that accepts an offer, or is named in it, stands under its terms;
	// the second one to accept stands behind the first.
	sqlFromOffer = `UPDATE contract_states SET (shown, api, deadline, arbitrator, due) =
		(SELECT CASE o.shown WHEN 0 THEN 2 ELSE 1 END, o.api, o.deadline, o.arbitrator, o.due
			FROM contract_states AS o WHERE o.contract = ?1 AND o.a = ?4 AND o.b = ?4)
		WHERE contract = ?1 AND a = ?2 AND b = ?3 AND EXISTS (SELECT 1 FROM contract_states WHERE contract = ?1 AND a = ?4 AND b = ?4)`
	sqlOfferTaken = `UPDATE contract_states SET shown = 0 WHERE contract = ?1 AND a = ?2 AND b = ?2 AND shown = 1 AND EXISTS
		(SELECT 1 FROM contract_states WHERE contract = ?1 AND poster = ?2 AND a <> b)`
	// It has the offer's age, too: the numbers of the two are changed for each
	// other.
	sqlOfferAge   = `SELECT n, at FROM contract_states WHERE contract = ? AND a = ? AND b = ? AND shown = 1`
	sqlPairNumber = `SELECT n FROM contract_states WHERE contract = ? AND a = ? AND b = ?`
	sqlSetAge     = `UPDATE contract_states SET n = ?4, at = coalesce(?5, at) WHERE contract = ?1 AND a = ?2 AND b = ?3`
)

// heldState is a state as the store has it.
type heldState struct {
	niptemp.State
	unproven bool // no open is known
}

// base is the state to judge by, nil for none.
func (s *heldState) base() *niptemp.State {
	if s == nil {
		return nil
	}
	return &s.State
}

// state reads the state of the record's contract between two keys, nil if none
// is known.
func (w *states) state(r *record, k1, k2 string) (*heldState, error) {
	a, b, err := ordered(k1, k2)
	if err != nil {
		return nil, err
	}
	return w.stateOf(pairKey{r.ev.Tags.GetD(), a, b})
}

func (w *states) stateOf(k pairKey) (*heldState, error) {
	row, err := w.c.One(sqlContractState, k.keys()...)
	if err != nil || row == nil {
		return nil, err
	}
	s := &heldState{State: niptemp.State{
		Contract: k.contract, Poster: row.Hex(0), Status: niptemp.Status(row.Text(1)), CreatedAt: row.Int(2), EventID: row.Hex(3),
	}, unproven: row.Int(4) == 1}
	switch a, b := column.HexOf(k.a), column.HexOf(k.b); {
	case a == b:
	case s.Poster == a:
		s.Worker = b
	default:
		s.Worker = a
	}
	return s, nil
}

// setState stores the state between two keys.
func (w *states) setState(k pairKey, s niptemp.State, unproven bool) error {
	poster, ok1 := column.Hex32(s.Poster)
	event, ok2 := column.Hex32(s.EventID)
	if !ok1 || !ok2 {
		return fmt.Errorf("contract state names no keys")
	}
	had, err := w.c.Exists(sqlContractState, k.keys()...)
	if err != nil {
		return err
	}
	if _, err = w.Exec(sqlSetState, k.contract, k.a, k.b, poster, string(s.Status), s.CreatedAt, event, column.Bool(unproven), w.Now); err != nil || had {
		return err
	}
	if !bytes.Equal(k.a, k.b) {
		if err := w.inherit(k, poster); err != nil {
			return err
		}
		if err := w.joinOffer(k.contract, k.a, k.b); err != nil {
			return err
		}
		worker, _ := column.Hex32(s.Worker)
		if err := w.standUnder(k.contract, poster, worker); err != nil {
			return err
		}
	}
	return w.Do(sqlOfferTaken, k.contract, poster)
}

// inherit gives a new pair what its poster had offered to everybody: terms,
// place and age.
func (w *states) inherit(k pairKey, poster []byte) error {
	if _, err := w.Exec(sqlFromOffer, k.contract, k.a, k.b, poster); err != nil {
		return err
	}
	offer, err := w.c.One(sqlOfferAge, k.contract, poster, poster)
	if err != nil || offer == nil {
		return err
	}
	own, err := w.c.Number(sqlPairNumber, k.keys()...)
	if err != nil {
		return err
	}
	// No two rows may have a number at any time.
	self := pairKey{k.contract, poster, poster}
	return w.Run(engine.Do(sqlSetAge, self.keys(-own, nil)...), engine.Do(sqlSetAge, k.keys(offer[0], offer[1])...),
		engine.Do(sqlSetAge, self.keys(own, nil)...))
}

// ordered decodes two keys, the lower one first.
func ordered(k1, k2 string) (a, b []byte, err error) {
	a, ok1 := column.Hex32(k1)
	b, ok2 := column.Hex32(k2)
	if !ok1 || !ok2 {
		return nil, nil, errors.New("a contract party is not 64 lower-case hex digits")
	}
	if bytes.Compare(a, b) > 0 {
		a, b = b, a
	}
	return a, b, nil
}
