package store

import (
	"database/sql/driver"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/niptemp"
)

const (
	sqlKeepVerdict = `INSERT OR IGNORE INTO contract_verdicts(contract, id, author, poster, worker, was, status, created_at, live, held, note)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`
	// Those by which the contract was moved come first: they hold again when its states are gone through again.
	sqlVerdicts = `SELECT id, author, poster, worker, was, status, created_at, note FROM contract_verdicts WHERE contract = ?
		ORDER BY held DESC, created_at, id LIMIT ?`
	sqlRecorded = `SELECT 1 FROM contract_decisions WHERE contract = ? AND a = ? AND b = ? AND event = ?`
	sqlHold     = `UPDATE contract_verdicts SET held = 1 WHERE contract = ? AND id = ?`
	// The states that a verdict can be about: of the two it names, or a poster's open offers.
	sqlOpenOffers = `SELECT a, b FROM contract_states WHERE contract = ?1 AND poster = ?2 AND status = 'open' LIMIT ?3`
	sqlOfferOver  = `SELECT 1 FROM contract_states WHERE contract = ?1 AND poster = ?2 AND status <> 'open' AND event <> ?3 LIMIT 1`
	// No event says it, or the event is gone, or was judged as it arrived.
	sqlDecidedForGood = `SELECT 1 FROM contract_decisions AS d WHERE contract = ? AND a = ? AND b = ? AND (event IS NULL OR event = x'' OR EXISTS
		(SELECT 1 FROM contract_verdicts AS v WHERE v.contract = d.contract AND v.id = d.event AND v.live = 1)) LIMIT 1`
	// A word that was here before the open it is about has its number where nobody looks for it.
	sqlStrayMove = `SELECT m.seq, m.thread FROM history AS h JOIN contract_moves AS m ON m.seq = h.seq WHERE h.id = ?1
		UNION ALL SELECT m.seq, m.thread FROM events AS e JOIN contract_moves AS m ON m.seq = e.seq WHERE e.id = ?1`
	sqlBringMove   = `UPDATE contract_moves SET thread = ?2, n = ?3 WHERE seq = ?1`
	sqlDecideState = `UPDATE contract_states SET status = ?4, created_at = ?5, event = ?6 WHERE contract = ?1 AND a = ?2 AND b = ?3`
)

const (
	// maxVerdicts bounds how many decisions on one contract are looked at after each of its states.
	maxVerdicts = 64
	// maxOffers bounds how many offers of a contract expire by one event.
	maxOffers = 256
)

// verdict takes a state event that is no move of a party: a decision, or a word that a contract has expired. mine is
// false for all others. One that does not hold is refused, also where no state is known, unless it is imported: then it
// is kept, and tried again with every state of its contract (settle).
func (w *writer) verdict(r *record, imported bool) (mine bool, refusal string, err error) {
	d, shaped := niptemp.DecisionOf(r.ev)
	if !shaped {
		said, err := niptemp.ReadState(r.ev)
		if err != nil || said.Status != niptemp.Expired {
			return false, "", nil // a move, or no state by today's rules
		}
		if !imported {
			return true, msgNotExpirer, nil
		}
		dated, err := w.hasDeadline(said.Contract, r.ev.PubKey, said.To)
		return dated, "", err
	}
	if !imported {
		if refusal := w.tooEarly(d.CreatedAt); refusal != "" {
			return true, refusal, nil
		}
		refusal, err := w.judgeDecision(d)
		if err != nil || refusal != "" {
			return true, refusal, err
		}
	}
	if d.Worker == "" && imported {
		// Older relays let parties say that an offer has expired.
		known, err := w.state(r, d.Author, d.Poster)
		if err != nil {
			return true, "", err
		}
		if known != nil {
			dated, err := w.hasDeadline(d.Contract, d.Author, d.Poster)
			return dated, "", err
		}
	}
	return true, "", w.keepVerdict(d, r.ev, imported)
}

const msgNotExpirer = "invalid: only the expirer that the contract names says that it has expired"

// hasDeadline reports whether an open of either of two keys names a deadline: then nobody but its expirer says that it
// is over.
func (w *writer) hasDeadline(contract, k1, k2 string) (bool, error) {
	for _, pair := range [][2]string{{k1, k2}, {k2, k1}} {
		poster, ok1 := lowerHex32(pair[0])
		worker, ok2 := lowerHex32(pair[1])
		if !ok1 || !ok2 {
			return false, nil
		}
		offered, err := w.termsOffered(contract, poster, worker)
		if err != nil || offered.Deadline != 0 {
			return true, err
		}
	}
	return false, nil
}

// keepVerdict remembers a decision, for settle.
func (w *writer) keepVerdict(d niptemp.Decision, ev *nostr.Event, imported bool) error {
	said, err := niptemp.ReadState(ev)
	if err != nil {
		return fmt.Errorf("a decision: %w", err)
	}
	id, _ := lowerHex32(d.ID)
	author, _ := lowerHex32(d.Author)
	poster, _ := lowerHex32(d.Poster)
	worker := poster
	if d.Worker != "" {
		worker, _ = lowerHex32(d.Worker)
	}
	live := int64(1)
	if imported {
		live = 0
	}
	_, err = w.exec(sqlKeepVerdict, d.Contract, id, author, poster, worker, string(d.Previous), string(d.Status), d.CreatedAt, live, said.Note)
	return err
}

// settle moves a contract by the decisions on it that hold now.
func (w *writer) settle(contract string) error {
	return w.each(sqlVerdicts, []driver.Value{contract, int64(maxVerdicts)}, func(v []driver.Value) error {
		d := niptemp.Decision{Contract: contract, ID: hexOf(v[0]), Author: hexOf(v[1]), Poster: hexOf(v[2]), Worker: hexOf(v[3])}
		if d.Worker == d.Poster {
			d.Worker = ""
		}
		was, _ := v[4].(string)
		status, _ := v[5].(string)
		d.Previous, d.Status = niptemp.Status(was), niptemp.Status(status)
		d.CreatedAt, _ = v[6].(int64)
		note, _ := v[7].(string)
		return w.carry(d, note)
	})
}

// judgeDecision is the refusal of a decision that holds for no state, "" if it holds for one.
func (w *writer) judgeDecision(d niptemp.Decision) (string, error) {
	next, err := w.holdsFor(d)
	if err != nil {
		return refusalOf(err)
	}
	if len(next) == 0 {
		return msgNotExpirer, nil
	}
	return "", nil
}

// carry moves the states for which a decision holds, if there are any, and records who has moved them.
func (w *writer) carry(d niptemp.Decision, note string) error {
	all, err := w.holdsFor(d)
	if _, err := refusalOf(err); err != nil {
		return err
	}
	for _, next := range all {
		a, b, err := between(next.Poster, next.Worker)
		if err != nil {
			return err
		}
		id, _ := lowerHex32(next.EventID)
		if _, err := w.exec(sqlDecideState, next.Contract, a, b, string(next.Status), next.CreatedAt, id); err != nil {
			return err
		}
		if _, err := w.exec(sqlHold, d.Contract, id); err != nil {
			return err
		}
		if err := w.decidedBy(d, next, a, b, note); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	return w.bring(d, all[0])
}

// bring gives a decision that was here before what it is about the next number in the thread of those whom it concerns.
func (w *writer) bring(d niptemp.Decision, s niptemp.State) error {
	id, _ := lowerHex32(d.ID)
	move, err := w.c.one(sqlStrayMove, id)
	if err != nil || move == nil {
		return err
	}
	poster, _ := lowerHex32(s.Poster)
	worker, named := lowerHex32(s.Worker)
	if !named {
		worker = poster
	}
	thread, err := w.thread(d.Contract, poster, worker)
	if err != nil || move[1] == driver.Value(thread) {
		return err
	}
	n, err := w.next(thread)
	if err != nil {
		return err
	}
	_, err = w.exec(sqlBringMove, move[0], thread, n)
	return err
}

// decidedBy records a decision that was carried out by an event, once.
func (w *writer) decidedBy(d niptemp.Decision, s niptemp.State, a, b []byte, note string) error {
	id, _ := lowerHex32(d.ID)
	if recorded, err := w.c.exists(sqlRecorded, s.Contract, a, b, id); err != nil || recorded {
		return err
	}
	by := "deadline"
	if d.Status != niptemp.Expired {
		poster, _ := lowerHex32(s.Poster)
		worker, _ := lowerHex32(s.Worker)
		agreed, err := w.termsAgreed(s.Contract, poster, worker)
		if err != nil {
			return err
		}
		if by = "operator"; d.Author == agreed.Arbitrator {
			by = "arbitrator"
		}
	}
	return w.decision(s.Contract, a, b, ContractDecision{
		Was: string(d.Previous), Status: string(d.Status), By: by, Key: d.Author, Note: note, At: d.CreatedAt, EventID: d.ID,
	})
}

// holdsFor are the states that a decision leads to: of the two keys it names, or of the offers that it ends. An error
// that is a *niptemp.Refusal says why there are none.
func (w *writer) holdsFor(d niptemp.Decision) ([]niptemp.State, error) {
	if d.Worker != "" {
		next, err := w.decides(d, d.Worker)
		if err != nil {
			return nil, err
		}
		return []niptemp.State{next}, nil
	}
	poster, _ := lowerHex32(d.Poster)
	id, _ := lowerHex32(d.ID)
	if over, err := w.c.exists(sqlOfferOver, d.Contract, poster, id); err != nil || over {
		return nil, err
	}
	var all []niptemp.State
	var first error
	err := w.each(sqlOpenOffers, []driver.Value{d.Contract, poster, int64(maxOffers)}, func(v []driver.Value) error {
		worker := hexOf(v[0])
		if worker == d.Poster {
			worker = hexOf(v[1])
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

// decides applies a decision to the state of its poster and a worker, who is the poster himself in an offer that names
// nobody.
func (w *writer) decides(d niptemp.Decision, worker string) (niptemp.State, error) {
	a, b, err := between(d.Poster, worker)
	if err != nil {
		return niptemp.State{}, err
	}
	state, err := w.stateOf(pairKey{d.Contract, a, b})
	if err != nil {
		return niptemp.State{}, err
	}
	poster, _ := lowerHex32(d.Poster)
	other, _ := lowerHex32(worker)
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
