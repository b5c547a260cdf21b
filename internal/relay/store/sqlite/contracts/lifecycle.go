package contracts

import (
	"bytes"
	"errors"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

// maxAhead is how many seconds a state may be ahead of the clock: the next one
// must not be much earlier.
const maxAhead = 60

// Judge judges contract memory against its owner and the state of its pair
// (NIP-TEMP) and, for a 30091, moves that state, in the transaction that
// stores the event: of two moves that wait together, the first wins and the
// second is judged by what it left. A refusal is for the client.
// Imports and restores are not judged: what follows is adopted.
//
// The states outlive their events: deleting or expiring a 30091 does not reopen
// a contract.
func (w *Writer) Judge(ev *nostr.Event, opts store.PutOptions) (refusal *nip01.Refusal, err error) {
	r, err := newRecord(ev)
	if err != nil {
		return nil, err
	}
	if opts.KnownOnly {
		if known, err := w.hasPart(r); err != nil || !known {
			return whyGuessed, err
		}
	}
	if refusal, err := w.recall(r.ev); err != nil || refusal != nil {
		return refusal, err
	}
	if r.ev, err = w.masked(ev); err != nil {
		return nil, err
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
func (w *Writer) stateEvent(r *record, o ownership, imported bool) (refusal *nip01.Refusal, err error) {
	// What it says of who decides is known before it is judged, and what is
	// agreed with it follows from where it leads.
	if err := errors.Join(w.agree(r.ev), w.partyAfterAll(r.ev)); err != nil {
		return nil, err
	}
	handled, refusal, err := w.verdict(r, imported)
	switch {
	case handled || err != nil:
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
func (w *Writer) checkEntry(r *record, o ownership) (refusal *nip01.Refusal, err error) {
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

// move applies a state event to the first state in question that allows it.
func (w *Writer) move(r *record, o ownership) (refusal *nip01.Refusal, err error) {
	p, err := niptemp.StepOf(r.ev)
	if err != nil {
		return refusalOf(err)
	}
	opens := p.Status == niptemp.Open
	if refusal, err := w.checkOwner(r, o, opens); err != nil || refusal != nil {
		return refusal, err
	}
	if p.CreatedAt > w.Now+maxAhead {
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
func (w *Writer) tooFarAhead() *nip01.Refusal {
	return nip01.Refuse(nip01.PrefixInvalid, "created_at is more than %d seconds ahead of this relay's clock, which says %s", maxAhead,
		time.Unix(w.Now, 0).UTC().Format(time.RFC3339))
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
func (w *Writer) moved(r *record, p niptemp.Step, o ownership, next niptemp.State) (refusal *nip01.Refusal, err error) {
	a, b, err := ordered(p.Author, p.To)
	if err != nil {
		return nil, err
	}
	k := pairKey{p.Contract, a, b}
	end, err := w.c.Number(sqlEndOfChain, k.keys()...)
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
func (w *Writer) adopt(r *record, o ownership) error {
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
func (w *Writer) claimed(r *record, o ownership, opens bool) error {
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
func (w *Writer) statesFor(r *record, moves bool) ([]*heldState, error) {
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

// pair returns the two parties of a contract event.
func pair(ev *nostr.Event) (author, counterparty string) {
	for _, t := range ev.Tags {
		if len(t) >= 2 && t[0] == "p" {
			return ev.PubKey, t[1]
		}
	}
	return ev.PubKey, ev.PubKey
}
