package niptemp

import (
	"strconv"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// KindState is the kind of contract state events: addressable, d = contract id.
const KindState = 30091

// CheckStateShape judges a kind-30091 event by itself (NIP-TEMP, "Contract
// state"): one d tag with a contract id, one p tag with a key, and a JSON
// object without duplicate names in which contract_id = d, status is one of
// the seven, and previous_status is one too (only an open may leave it out, or
// null, or empty). The other fields are labels: amount_sats must be an integer
// from 0 on, transition_at RFC 3339, the rest strings, where they are given;
// worker_agent_id may be null. Whether the move is allowed is a question to
// Next. An open and an acceptance may have the tags that TermsOf reads; of a
// decision see DecisionOf. Errors are "invalid".
func CheckStateShape(ev *nostr.Event) error {
	_, err := parseState(ev)
	return err
}

// parseState reads a move or a decision.
func parseState(ev *nostr.Event) (Step, error) {
	if ev.Kind != KindState {
		return Step{}, invalid("kind %d is not a contract state", ev.Kind)
	}
	t := Step{ID: ev.ID, Author: ev.PubKey, CreatedAt: int64(ev.CreatedAt)}
	var err error
	if t.Contract, err = contractID(ev); err != nil {
		return Step{}, err
	}
	if t.To, t.second, err = namedKeys(ev); err != nil {
		return Step{}, err
	}
	obj, err := parseObject(ev.Content)
	if err != nil {
		return Step{}, err
	}
	if id, _, err := obj.text("contract_id"); err != nil {
		return Step{}, err
	} else if id != t.Contract {
		return Step{}, invalid("content field %q must be the same as the d tag", "contract_id")
	}
	status, _, err := obj.text("status")
	if err != nil {
		return Step{}, err
	}
	previous, err := obj.optionalText("previous_status")
	if err != nil {
		return Step{}, err
	}
	t.Status, t.Previous = Status(status), Status(previous)
	if !t.Status.Valid() {
		return Step{}, invalid("content field %q is not a contract status", "status")
	}
	if !t.Previous.Valid() && (previous != "" || t.Status != Open) {
		return Step{}, invalid("content field %q is not a contract status", "previous_status")
	}
	switch { // what it says about who decides
	case t.second != "":
		err = t.checkDecisionShape()
	case t.Status == Open, t.Status == Accepted:
		_, err = TermsOf(ev)
	}
	if err != nil {
		return Step{}, err
	}
	return t, checkStateLabels(obj)
}

// checkStateLabels judges the fields that decide nothing.
func checkStateLabels(obj object) error {
	for _, name := range [...]string{"poster_agent_id", "description"} {
		if _, _, err := obj.text(name); err != nil {
			return err
		}
	}
	if _, err := obj.optionalText("worker_agent_id"); err != nil {
		return err
	}
	if raw, ok := obj["amount_sats"]; ok {
		if _, err := strconv.ParseUint(string(raw), 10, 63); err != nil {
			return invalid("content field %q must be an integer, 0 or more", "amount_sats")
		}
	}
	if at, ok, err := obj.text("transition_at"); err != nil {
		return err
	} else if ok {
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			return invalid("content field %q must be a time as in RFC 3339", "transition_at")
		}
	}
	return nil
}
