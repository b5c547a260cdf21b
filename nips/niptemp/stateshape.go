package niptemp

import (
	"strconv"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// KindState is the kind of contract state events: addressable, d = contract id.
const KindState = 30091

// transition is what a kind-30091 event says.
type transition struct {
	contract         string
	author, to       string // pubkeys
	second           string // of the second p tag, which decisions have
	status, previous Status // previous is empty where the event names none
}

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

// parseTransition reads the move of a party.
func parseTransition(ev *nostr.Event) (transition, error) {
	t, err := parseState(ev)
	if err == nil && t.second != "" {
		return transition{}, invalid("it has two p tags: that is a decision, and no move of a party")
	}
	return t, err
}

func parseState(ev *nostr.Event) (transition, error) {
	if ev.Kind != KindState {
		return transition{}, invalid("kind %d is not a contract state", ev.Kind)
	}
	t := transition{author: ev.PubKey}
	var err error
	if t.contract, err = contractID(ev); err != nil {
		return transition{}, err
	}
	if t.to, t.second, err = namedKeys(ev); err != nil {
		return transition{}, err
	}
	obj, err := parseObject(ev.Content)
	if err != nil {
		return transition{}, err
	}
	if id, _, err := obj.text("contract_id"); err != nil {
		return transition{}, err
	} else if id != t.contract {
		return transition{}, invalid("content field %q must be the same as the d tag", "contract_id")
	}
	status, _, err := obj.text("status")
	if err != nil {
		return transition{}, err
	}
	previous, err := obj.optionalText("previous_status")
	if err != nil {
		return transition{}, err
	}
	t.status, t.previous = Status(status), Status(previous)
	if !t.status.Valid() {
		return transition{}, invalid("content field %q is not a contract status", "status")
	}
	if !t.previous.Valid() && (previous != "" || t.status != Open) {
		return transition{}, invalid("content field %q is not a contract status", "previous_status")
	}
	if err := t.checkTerms(ev); err != nil {
		return transition{}, err
	}
	return t, checkStateLabels(obj)
}

// checkTerms judges what a state says about who decides.
func (t transition) checkTerms(ev *nostr.Event) error {
	switch {
	case t.second != "":
		return t.checkDecisionShape()
	case t.status == Open, t.status == Accepted:
		_, err := TermsOf(ev)
		return err
	}
	return nil
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
