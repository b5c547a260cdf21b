package sqlite

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"engramd/internal/store"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

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

// maxAhead is how many seconds a state may be ahead of the clock: the next one
// must not be much earlier.
const maxAhead = 60

// heldState is a state as the store has it.
type heldState struct {
	niptemp.State
	unproven bool // no open is known
}

// lifecycle judges contract memory against its owner and the state of its pair
// (30-nip-temp) and, for a 30091, moves that state, in the transaction that
// stores the event: of two moves that wait together, the first wins and the
// second is judged by what it left. A refusal is for the client.
// Imports and restores are not judged: what follows is adopted.
//
// The states outlive their events: deleting or expiring a 30091 does not reopen
// a contract.
func (w *writer) lifecycle(r *record, opts store.PutOptions) (refusal *nip01.Refusal, err error) {
	if !isContract(r.ev.Kind) {
		return nil, nil
	}
	if opts.KnownOnly {
		if known, err := w.hasPart(r); err != nil || !known {
			return whyGuessed, err
		}
	}
	if refusal, err := w.recall(r.ev); err != nil || refusal != nil {
		return refusal, err
	}
	ev, err := w.masked(r.ev)
	if err != nil {
		return nil, err
	}
	if ev != r.ev {
		judged := *r
		judged.ev, r = ev, &judged
	}
	o, err := w.ownership(r)
	if err != nil {
		return nil, err
	}
	switch {
	case r.ev.Kind == niptemp.KindState:
		return w.stateEvent(r, o, opts.Import)
	case !opts.Import:
		if refusal, err = w.checkEntry(r, o); err != nil || refusal != nil {
			return refusal, err
		}
	}
	if err := w.claimed(r, o, false); err != nil || o.displaced == nil {
		return nil, err
	}
	return nil, w.settle(r.ev.Tags.GetD())
}

// stateEvent takes a 30091: a decision of somebody who is no party, or a
// party's move. Then decisions are looked at again: one may hold now, and one
// by which the contract was moved holds again where its states were put in
// order anew.
func (w *writer) stateEvent(r *record, o ownership, imported bool) (refusal *nip01.Refusal, err error) {
	// What it says of who decides is known before it is judged, and what is
	// agreed with it follows from where it leads.
	if err := errors.Join(w.agree(r.ev), w.partyAfterAll(r.ev)); err != nil {
		return nil, err
	}
	mine, refusal, err := w.verdict(r, imported)
	switch {
	case mine || err != nil:
	case imported:
		err = w.adopt(r, o)
	default:
		refusal, err = w.move(r, o)
	}
	if err != nil || refusal != nil {
		return refusal, err
	}
	if err := w.agree(r.ev); err != nil {
		return nil, err
	}
	return nil, w.settle(r.ev.Tags.GetD())
}

// checkEntry refuses an entry that its author may not write now.
func (w *writer) checkEntry(r *record, o ownership) (refusal *nip01.Refusal, err error) {
	if refusal, err := w.checkOwner(r, o, false); err != nil || refusal != nil {
		return refusal, err
	}
	states, err := w.statesFor(r, false)
	if err != nil {
		return nil, err
	}
	var first error
	for _, s := range states {
		err := s.base().CheckEntry(r.ev)
		if err == nil {
			return nil, nil
		}
		if first == nil {
			first = err
		}
	}
	return refusalOf(first)
}

// base is the state to judge by, nil for none.
func (s *heldState) base() *niptemp.State {
	if s == nil {
		return nil
	}
	return &s.State
}

// move applies a state event to the first state in question that allows it.
func (w *writer) move(r *record, o ownership) (refusal *nip01.Refusal, err error) {
	p, err := niptemp.StepOf(r.ev)
	if err != nil {
		return refusalOf(err)
	}
	opens := p.Status == niptemp.Open
	if refusal, err := w.checkOwner(r, o, opens); err != nil || refusal != nil {
		return refusal, err
	}
	if p.CreatedAt > w.now+maxAhead {
		return w.tooFarAhead(), nil
	}
	last, err := w.lastStep(p.Contract, r.pubkey)
	if err != nil {
		return nil, err
	}
	states, err := w.statesFor(r, !opens)
	if err != nil {
		return nil, err
	}
	if s := states[0]; opens && s != nil && (s.unproven || o.committed && s.Poster != p.Author) {
		// The open that was missing, or that of the owner where somebody else's
		// stood before.
		if err := (*niptemp.State)(nil).CheckTime(p.CreatedAt, last); err != nil {
			return refusalOf(err)
		}
		return nil, w.adopt(r, o)
	}
	if states[0] == nil && opens {
		if refusal, err := w.checkNewID(r, o); err != nil || refusal != nil {
			return refusal, err
		}
	}
	var first error
	for _, s := range states {
		next, err := niptemp.Next(s.base(), r.ev)
		if err == nil {
			err = s.base().CheckTime(p.CreatedAt, last)
		}
		if err == nil {
			return w.moved(r, p, o, next)
		}
		if first == nil {
			first = err
		}
	}
	return refusalOf(first)
}

// tooFarAhead is the refusal of a state that is dated later than maxAhead from
// now.
func (w *writer) tooFarAhead() *nip01.Refusal {
	return nip01.Refuse(nip01.PrefixInvalid, "created_at is more than %d seconds ahead of this relay's clock, which says %s", maxAhead,
		time.Unix(w.now, 0).UTC().Format(time.RFC3339))
}

// refusalOf tells a refusal from other errors, which are failures.
func refusalOf(err error) (*nip01.Refusal, error) {
	var refusal *nip01.Refusal
	if errors.As(err, &refusal) {
		return refusal, nil
	}
	return nil, err
}

// moved stores a move that was judged, and adopts what waited for it.
func (w *writer) moved(r *record, p niptemp.Step, o ownership, next niptemp.State) (refusal *nip01.Refusal, err error) {
	a, b, err := ordered(p.Author, p.To)
	if err != nil {
		return nil, err
	}
	k := pairKey{p.Contract, a, b}
	end, err := w.c.number(sqlEndOfChain, k.keys()...)
	if err != nil {
		return nil, err
	}
	if err := w.addStep(p, k, true, end+1); err != nil {
		return nil, err
	}
	if err := w.setState(k, next, false); err != nil {
		return nil, err
	}
	if err := w.claimed(r, o, p.Status == niptemp.Open); err != nil {
		return nil, err
	}
	if bytes.Equal(a, b) {
		return nil, w.tryAgain(p.Contract, a, o.after(r), false)
	}
	return nil, w.extend(k, &heldState{State: next})
}

// adopt takes a state that is not judged: it may come before those that it
// follows.
func (w *writer) adopt(r *record, o ownership) error {
	p, err := niptemp.StepOf(r.ev)
	if err != nil {
		return nil // no state by today's rules; it leads nowhere
	}
	a, b, err := ordered(p.Author, p.To)
	if err != nil {
		return err
	}
	k := pairKey{p.Contract, a, b}
	if err := w.addStep(p, k, false, 0); err != nil {
		return err
	}
	opens := p.Status == niptemp.Open && p.Previous == ""
	if err := w.claimed(r, o, opens); err != nil {
		return err
	}
	owner := o.owner
	if opens {
		owner = o.after(r)
	}
	if err := w.refold(k, owner); err != nil {
		return err
	}
	if bytes.Equal(a, b) {
		return w.tryAgain(p.Contract, a, owner, false)
	}
	return nil
}

// claimed writes down whose contract the record shows it to be, and looks again
// at what its new owner has in it.
func (w *writer) claimed(r *record, o ownership, opens bool) error {
	if err := w.own(r, o, opens); err != nil || o.displaced == nil {
		return err
	}
	return w.tryAgain(r.ev.Tags.GetD(), r.pubkey, r.pubkey, true)
}

// statesFor lists the states that a contract event is judged by: that of its
// pair; if there is none, the open that the author addressed to himself and,
// for a move, that of the counterparty, which it may accept; if there is none
// either, a nil state. An entry is not judged by the counterparty's own open:
// whether there is one is not for its author to learn. A poster's entry to
// himself stands in the thread that his contract has become, and is judged by
// that.
func (w *writer) statesFor(r *record, moves bool) ([]*heldState, error) {
	who, other := pair(r.ev)
	if who == other && r.ev.Kind == niptemp.KindEntry {
		s, err := w.standing(r)
		if err != nil || s != nil {
			return []*heldState{s}, err
		}
	}
	s, err := w.state(r, who, other)
	if err != nil || s != nil || who == other {
		return []*heldState{s}, err
	}
	var out []*heldState
	keys := []string{who, other}
	if !moves {
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

// state reads the state of the record's contract between two keys, nil if none
// is known.
func (w *writer) state(r *record, k1, k2 string) (*heldState, error) {
	a, b, err := ordered(k1, k2)
	if err != nil {
		return nil, err
	}
	return w.stateOf(pairKey{r.ev.Tags.GetD(), a, b})
}

func (w *writer) stateOf(k pairKey) (*heldState, error) {
	row, err := w.c.one(sqlContractState, k.keys()...)
	if err != nil || row == nil {
		return nil, err
	}
	status, _ := row[1].(string)
	s := &heldState{State: niptemp.State{
		Contract: k.contract, Poster: hexOf(row[0]), Status: niptemp.Status(status), CreatedAt: row[2].(int64), EventID: hexOf(row[3]),
	}, unproven: row[4] == driver.Value(int64(1))}
	switch a, b := hexOf(k.a), hexOf(k.b); {
	case a == b:
	case s.Poster == a:
		s.Worker = b
	default:
		s.Worker = a
	}
	return s, nil
}

// setState stores the state between two keys.
func (w *writer) setState(k pairKey, s niptemp.State, unproven bool) error {
	poster, ok1 := lowerHex32(s.Poster)
	event, ok2 := lowerHex32(s.EventID)
	if !ok1 || !ok2 {
		return fmt.Errorf("contract state names no keys")
	}
	had, err := w.c.exists(sqlContractState, k.keys()...)
	if err != nil {
		return err
	}
	flag := int64(0)
	if unproven {
		flag = 1
	}
	if _, err = w.exec(sqlSetState, k.contract, k.a, k.b, poster, string(s.Status), s.CreatedAt, event, flag, w.now); err != nil || had {
		return err
	}
	if !bytes.Equal(k.a, k.b) {
		if err := w.inherit(k, poster); err != nil {
			return err
		}
		if err := w.joinOffer(k.contract, k.a, k.b); err != nil {
			return err
		}
		worker, _ := lowerHex32(s.Worker)
		if err := w.standUnder(k.contract, poster, worker); err != nil {
			return err
		}
	}
	_, err = w.exec(sqlOfferTaken, k.contract, poster)
	return err
}

// inherit gives a new pair what its poster had offered to everybody: terms,
// place and age.
func (w *writer) inherit(k pairKey, poster []byte) error {
	if _, err := w.exec(sqlFromOffer, k.contract, k.a, k.b, poster); err != nil {
		return err
	}
	offer, err := w.c.one(sqlOfferAge, k.contract, poster, poster)
	if err != nil || offer == nil {
		return err
	}
	n, at := offer[0], offer[1]
	own, err := w.c.number(sqlPairNumber, k.keys()...)
	if err != nil {
		return err
	}
	// No two rows may have a number at any time.
	self := pairKey{k.contract, poster, poster}
	for _, change := range []struct {
		k     pairKey
		n, at driver.Value
	}{{self, -own, nil}, {k, n, at}, {self, own, nil}} {
		if _, err := w.exec(sqlSetAge, change.k.keys(change.n, change.at)...); err != nil {
			return err
		}
	}
	return nil
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
