package contracts

import (
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

const (
	sqlKeepVerdict = `INSERT OR IGNORE INTO contract_verdicts(contract, id, author, poster, worker, was, status, created_at, live, held, note)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`
	// Those by which the contract was moved come first: they hold again when
	// its states are gone through again. None is looked at of a key that the
	// poster has not named for it: there may be any number.
	sqlVerdicts = `SELECT id, author, poster, worker, was, status, created_at, note FROM contract_verdicts AS v WHERE contract = ?1
		AND EXISTS (SELECT 1 FROM contract_terms AS t WHERE t.contract = ?1 AND t.poster = v.poster AND t.said = 0 AND t.term < 4
			AND (t.term = 3) = (v.status = 'expired') AND t.value = v.author AND (v.worker = v.poster OR t.worker IN (v.poster, v.worker)))
		ORDER BY held DESC, created_at, id LIMIT ?2`
	sqlRecorded = `SELECT 1 FROM contract_decisions WHERE contract = ? AND a = ? AND b = ? AND event = ?`
	sqlHold     = `UPDATE contract_verdicts SET held = 1 WHERE contract = ? AND id = ?`
	// The states that a verdict can be about: of the two it names, or a
	// poster's open offers.
	sqlOpenOffers = `SELECT a, b FROM contract_states WHERE contract = ?1 AND poster = ?2 AND status = 'open' LIMIT ?3`
	sqlOfferOver  = `SELECT 1 FROM contract_states WHERE contract = ?1 AND poster = ?2 AND status <> 'open' AND event <> ?3 LIMIT 1`
	// No event says it, or the event is gone, or was judged as it arrived.
	sqlDecidedForGood = `SELECT 1 FROM contract_decisions AS d WHERE contract = ? AND a = ? AND b = ? AND (event IS NULL OR event = x'' OR EXISTS
		(SELECT 1 FROM contract_verdicts AS v WHERE v.contract = d.contract AND v.id = d.event AND v.live = 1)) LIMIT 1`
	sqlDecideState = `UPDATE contract_states SET status = ?4, created_at = ?5, event = ?6 WHERE contract = ?1 AND a = ?2 AND b = ?3`
)

const (
	// maxVerdicts bounds how many decisions on one contract are looked at after
	// each of its states.
	maxVerdicts = 64
	// maxOffers bounds how many offers of a contract expire by one event.
	maxOffers = 256
)

// verdict takes a state event that is no move of a party: a decision, or a word
// that a contract has expired. handled is false for all others. One that does not
// hold is refused, also where no state is known, unless it is imported: then it
// is kept, and tried again with every state of its contract (settle).
func (w *Writer) verdict(r *record, imported bool) (handled bool, refusal *nip01.Refusal, err error) {
	d, shaped := niptemp.DecisionOf(r.ev)
	if !shaped {
		said, err := niptemp.ReadState(r.ev)
		if err != nil || said.Status != niptemp.Expired || imported {
			return false, nil, nil // a move, or no state by today's rules
		}
		return true, whyNotExpirer, nil
	}
	if !imported {
		refusal, err := w.judgeDecision(r, d)
		if err != nil || refusal != nil {
			return true, refusal, err
		}
	}
	if d.Worker == "" && imported {
		// Older relays let parties say that an offer has expired.
		known, err := w.state(r, d.Author, d.Poster)
		if err != nil || known != nil {
			return false, nil, err
		}
	}
	return true, nil, w.keepVerdict(d, r.ev, imported)
}

var whyNotExpirer = nip01.Refuse(nip01.PrefixInvalid, "only the expirer that the contract names says that it has expired")

// keepVerdict remembers a decision, for settle.
func (w *Writer) keepVerdict(d niptemp.Decision, ev *nostr.Event, imported bool) error {
	said, err := niptemp.ReadState(ev)
	if err != nil {
		return fmt.Errorf("a decision: %w", err)
	}
	id, _ := column.Hex32(d.ID)
	author, _ := column.Hex32(d.Author)
	poster, _ := column.Hex32(d.Poster)
	worker := poster
	if d.Worker != "" {
		worker, _ = column.Hex32(d.Worker)
	}
	return w.Do(sqlKeepVerdict, d.Contract, id, author, poster, worker, string(d.Previous), string(d.Status), d.CreatedAt, column.Bool(!imported), said.Note)
}

// settle moves a contract by the decisions on it that hold now.
func (w *states) settle(contract string) error {
	return w.c.Each(sqlVerdicts, []engine.Value{contract, int64(maxVerdicts)}, func(v engine.Row) error {
		d := niptemp.Decision{
			Contract: contract, ID: v.Hex(0), Author: v.Hex(1), Poster: v.Hex(2), Worker: v.Hex(3),
			Previous: niptemp.Status(v.Text(4)), Status: niptemp.Status(v.Text(5)), CreatedAt: v.Int(6),
		}
		if d.Worker == d.Poster {
			d.Worker = ""
		}
		return w.carry(d, v.Text(7))
	})
}

// judgeDecision is the refusal of a decision that holds for no state, nil if it
// holds for one.
func (w *Writer) judgeDecision(r *record, d niptemp.Decision) (*nip01.Refusal, error) {
	if d.CreatedAt > w.Now+maxAhead {
		return w.tooFarAhead(), nil
	}
	last, err := w.lastStep(d.Contract, r.pubkey)
	if err != nil {
		return nil, err
	}
	if err := (*niptemp.State)(nil).CheckTime(d.CreatedAt, last); err != nil {
		return refusalOf(err)
	}
	next, err := w.holdsFor(d)
	if err != nil {
		return refusalOf(err)
	}
	if len(next) == 0 {
		return whyNotExpirer, nil
	}
	return nil, nil
}

// carry moves the states for which a decision holds, if there are any, and
// records who has moved them.
func (w *states) carry(d niptemp.Decision, note string) error {
	all, err := w.holdsFor(d)
	if _, err := refusalOf(err); err != nil {
		return err
	}
	for _, next := range all {
		a, b, err := between(next.Poster, next.Worker)
		if err != nil {
			return err
		}
		id, _ := column.Hex32(next.EventID)
		if err := w.Run(engine.Do(sqlDecideState, next.Contract, a, b, string(next.Status), next.CreatedAt, id), engine.Do(sqlHold, d.Contract, id)); err != nil {
			return err
		}
		if err := w.decidedBy(d, next, a, b, note); err != nil {
			return err
		}
	}
	return nil
}

// decidedBy records a decision that was carried out by an event, once.
func (w *states) decidedBy(d niptemp.Decision, s niptemp.State, a, b []byte, note string) error {
	id, _ := column.Hex32(d.ID)
	if recorded, err := w.c.Exists(sqlRecorded, s.Contract, a, b, id); err != nil || recorded {
		return err
	}
	by := "deadline"
	if d.Status != niptemp.Expired {
		poster, _ := column.Hex32(s.Poster)
		worker, _ := column.Hex32(s.Worker)
		agreed, err := w.termsAgreed(s.Contract, poster, worker)
		if err != nil {
			return err
		}
		if by = "operator"; d.Author == agreed.Arbitrator {
			by = "arbitrator"
		}
	}
	return w.decision(s.Contract, a, b, store.ContractDecision{
		Was: string(d.Previous), Status: string(d.Status), By: by, Key: d.Author, Note: note, At: d.CreatedAt, EventID: d.ID,
	})
}

// holdsFor are the states that a decision leads to: of the two keys it names,
// or of the offers that it ends. An error that is a *nip01.Refusal says why
// there are none.
func (w *states) holdsFor(d niptemp.Decision) ([]niptemp.State, error) {
	if d.Worker != "" {
		next, err := w.decides(d, d.Worker)
		if err != nil {
			return nil, err
		}
		return []niptemp.State{next}, nil
	}
	poster, _ := column.Hex32(d.Poster)
	id, _ := column.Hex32(d.ID)
	if over, err := w.c.Exists(sqlOfferOver, d.Contract, poster, id); err != nil || over {
		return nil, err
	}
	var all []niptemp.State
	var first error
	err := w.c.Each(sqlOpenOffers, []engine.Value{d.Contract, poster, int64(maxOffers)}, func(v engine.Row) error {
		worker := column.HexOf(v[0])
		if worker == d.Poster {
			worker = column.HexOf(v[1])
		}
		next, err := w.decides(d, worker)
		if err == nil {
			all = append(all, next)
			return nil
		}
		if first == nil {
			first = err
		}
		_, err = refusalOf(err)
		return err
	})
	if err == nil && len(all) == 0 {
		err = first
	}
	return all, err
}

// decides applies a decision to the state of its poster and a worker, who is
// the poster himself in an offer that names nobody.
func (w *states) decides(d niptemp.Decision, worker string) (niptemp.State, error) {
	a, b, err := between(d.Poster, worker)
	if err != nil {
		return niptemp.State{}, err
	}
	state, err := w.stateOf(pairKey{d.Contract, a, b})
	if err != nil {
		return niptemp.State{}, err
	}
	poster, _ := column.Hex32(d.Poster)
	other, _ := column.Hex32(worker)
	terms := w.termsAgreed
	if d.Worker == "" {
		terms = w.termsOffered
	}
	holds, err := terms(d.Contract, poster, other)
	if err != nil {
		return niptemp.State{}, err
	}
	return state.base().Decide(holds, d)
}
