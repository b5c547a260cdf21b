package contracts

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

// whyGuessable answers the open of a contract whose id others could guess.
var whyGuessable = nip01.Refuse(nip01.PrefixInvalid, "a new contract needs an id that cannot be guessed: a UUID, or 32 hex digits and more")

var whyGuessed = nip01.Refuse(nip01.PrefixRateLimited, store.GuessedText)

const (
	sqlOwner    = `SELECT owner, salt FROM contract_owners WHERE contract = ?`
	sqlSetOwner = `INSERT INTO contract_owners(contract, owner, salt, since) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (contract) DO UPDATE SET owner = ?2, salt = ?3 WHERE salt IS NULL`
	sqlKnownContract = `SELECT 1 FROM contract_states WHERE contract = ? LIMIT 1`
	// Whom an owner's offer was accepted by: the first who came in, then the
	// first by the times of what was imported.
	sqlAccepted = `SELECT author FROM contract_steps INDEXED BY contract_steps_accepted
		WHERE contract = ? AND other = ? AND status = 'accepted' AND previous = 'open' AND step IS NOT NULL
		ORDER BY live DESC, place, id LIMIT 1`
	sqlHasPoster = `SELECT 1 FROM contract_states WHERE contract = ? AND poster = ? LIMIT 1`
)

// ownership is whose contract an id is.
type ownership struct {
	owner     []byte // nil: nobody's yet
	committed bool   // the id commits to him
	claim     []byte // the salt by which the event at hand shows that its author owns it, nil if that is known or not so
	displaced []byte // who would lose it by that claim
}

// ownership reads whose contract the record is of, as it is after the record if
// that shows it.
func (w *owners) ownership(r *record) (o ownership, err error) {
	row, err := w.c.One(sqlOwner, r.ev.Tags.GetD())
	if err != nil {
		return o, err
	}
	if row != nil {
		o.owner, o.committed = row.Blob(0), row[1] != nil
	}
	if o.committed {
		return o, nil
	}
	if salt := niptemp.ProvenSalt(r.ev); salt != "" {
		if !bytes.Equal(o.owner, r.pubkey) {
			o.displaced = o.owner
		}
		o.claim, _ = hex.DecodeString(salt) // ProvenSalt
		o.owner, o.committed = r.pubkey, true
	}
	return o, nil
}

// foreign reports whether the contract is another's than the record's author.
func (o ownership) foreign(r *record) bool {
	return o.owner != nil && !bytes.Equal(o.owner, r.pubkey)
}

// after is whose contract it is once an open is stored: nobody's is its
// author's.
func (o ownership) after(r *record) []byte {
	if o.owner == nil {
		return r.pubkey
	}
	return o.owner
}

// own writes down what the record shows: that its author made the id, or was
// the first to open it.
func (w *owners) own(r *record, o ownership, opens bool) error {
	if o.claim == nil && (o.owner != nil || !opens) {
		return nil
	}
	return w.Do(sqlSetOwner, r.ev.Tags.GetD(), r.pubkey, column.BytesOrNil(o.claim), w.Now)
}

// checkOwner refuses what the record's author may not write under another's
// contract id: a new contract under any, under one that commits to its owner
// anything but what a party writes.
func (w *owners) checkOwner(r *record, o ownership, opens bool) (refusal *nip01.Refusal, err error) {
	switch {
	case !o.foreign(r):
	case opens:
		return store.WhyTaken, nil
	case o.committed:
		if may, err := w.mayWrite(r, o.owner); err != nil || !may {
			return store.WhyTaken, err
		}
	}
	return nil, nil
}

// mayWrite reports whether somebody has a part in an owner's contract: he
// accepted it; before that, he is named in it, or he accepts an offer to
// everybody with this record; or nothing of it is known here.
func (w *owners) mayWrite(r *record, owner []byte) (bool, error) {
	contract := r.ev.Tags.GetD()
	accepted, err := w.acceptedBy(contract, owner)
	if err != nil || accepted != nil {
		return bytes.Equal(accepted, r.pubkey), err
	}
	named, err := w.state(r, r.ev.PubKey, column.HexOf(owner))
	if err != nil || named != nil {
		return named != nil, err
	}
	if _, other := pair(r.ev); other != column.HexOf(owner) {
		return false, nil
	}
	if r.ev.Kind == niptemp.KindState {
		offer, err := w.state(r, column.HexOf(owner), column.HexOf(owner))
		if err != nil || offer != nil && offer.Status == niptemp.Open {
			return offer != nil, err
		}
	}
	known, err := w.c.Exists(sqlHasPoster, contract, owner)
	return !known, err
}

// hasPart reports whether the record's author is known to have a part in the
// contract, or shows that he made its id.
func (w *owners) hasPart(r *record) (bool, error) {
	if niptemp.ProvenSalt(r.ev) != "" {
		return true, nil
	}
	list, err := json.Marshal([]string{r.ev.Tags.GetD()})
	if err != nil {
		return false, err
	}
	return w.c.Exists(sqlPartOf, string(list), r.pubkey)
}

// acceptedBy is the worker who accepted an owner's contract, nil for nobody.
func (w *owners) acceptedBy(contract string, owner []byte) ([]byte, error) {
	return w.c.Blob(sqlAccepted, contract, owner)
}

// standing is the state of what the record's author has posted under its
// contract id: with who accepted it, else as he offers it; nil for none.
func (w *owners) standing(r *record) (*heldState, error) {
	f := finder{c: w.c, contract: r.ev.Tags.GetD()}
	row, err := f.standing(r.pubkey)
	if err != nil || row == nil {
		return nil, err
	}
	a, ok1 := row[1].([]byte)
	b, ok2 := row[2].([]byte)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("contract state: %w", column.ErrDamaged)
	}
	return w.stateOf(pairKey{f.contract, a, b})
}

// checkNewID refuses a new contract under an id that others could guess, unless
// the operator allows that.
func (w *owners) checkNewID(r *record, o ownership) (refusal *nip01.Refusal, err error) {
	contract := r.ev.Tags.GetD()
	if !w.live().StrictIDs || o.owner != nil || niptemp.Unguessable(contract) {
		return nil, nil
	}
	known, err := w.c.Exists(sqlKnownContract, contract)
	if err != nil || known {
		return nil, err
	}
	return whyGuessable, nil
}
