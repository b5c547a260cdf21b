package niptemp

import "github.com/nbd-wtf/go-nostr"

// Decision is a kind-30091 event by which somebody moves a contract who is no
// party of it: an agreed arbitrator or decider ends a dispute, or the expirer
// says that the deadline is over.
type Decision struct {
	Contract         string
	ID               string // the event's
	Author           string
	Poster           string
	Worker           string // "" for an offer that nobody has accepted
	Status, Previous Status
	CreatedAt        int64
}

// DecisionOf reads an event that has the shape of a decision, which no move of
// a party has: exactly two p tags, the poster's and the worker's, in this
// order; and status completed or cancelled after disputed, or expired after
// accepted. The expiry of an offer has one p tag, the poster's, and follows
// open; whether an event like that is an expirer's or a party's the contract's
// terms say. ok is false for every other event.
func DecisionOf(ev *nostr.Event) (d Decision, ok bool) {
	t, err := parseState(ev)
	if err != nil {
		return Decision{}, false
	}
	if t.second == "" && (t.Status != Expired || t.Previous != Open || t.Author == t.To) {
		return Decision{}, false
	}
	return Decision{
		Contract: t.Contract, ID: t.ID, Author: t.Author, Poster: t.To, Worker: t.second,
		Status: t.Status, Previous: t.Previous, CreatedAt: t.CreatedAt,
	}, true
}

// checkDecisionShape judges a state event with two p tags.
func (t Step) checkDecisionShape() error {
	switch {
	case t.To == t.second || t.Author == t.To || t.Author == t.second:
		return invalid("a decision names the poster and the worker in two p tags, and is signed by neither")
	case t.Previous == Disputed && (t.Status == Completed || t.Status == Cancelled), t.Previous == Accepted && t.Status == Expired:
		return nil
	}
	return invalid("a decision goes from disputed to completed or cancelled, or from accepted to expired, not from %s to %s", t.Previous, t.Status)
}

// Decide applies a decision to the state of the pair that it names, or of an
// offer of its poster's, and returns the state it leads to. agreed are the
// terms that the two have agreed on; of an offer, those of its open. s may be
// nil. Errors are "invalid".
func (s *State) Decide(agreed Terms, d Decision) (State, error) {
	if s == nil {
		return State{}, invalid("no state of contract %s is known between the keys that the decision names", d.Contract)
	}
	if d.Contract != s.Contract || d.Poster != s.Poster || d.Worker != "" && d.Worker != s.Worker {
		return State{}, invalid("the decision is about another contract, or names its poster and its worker in another order")
	}
	if d.Previous != s.Status {
		return State{}, invalid("previous_status is not the contract's current status, %s", s.Status)
	}
	if err := s.CheckTime(d.CreatedAt, 0); err != nil {
		return State{}, err
	}
	if err := agreed.allow(d); err != nil {
		return State{}, err
	}
	next := *s
	next.Status, next.CreatedAt, next.EventID = d.Status, d.CreatedAt, d.ID
	return next, nil
}

// allow judges who decides, and when.
func (t Terms) allow(d Decision) error {
	if d.Status != Expired {
		if d.Author == "" || d.Author != t.Arbitrator && d.Author != t.Decider {
			return invalid("only the arbitrator or the decider that the parties agreed on decides this contract")
		}
		return nil
	}
	switch {
	case t.Expirer == "" || d.Author != t.Expirer:
		return invalid("only the expirer that the contract names says that it has expired")
	case t.Deadline == 0:
		return invalid("the contract has no deadline that its parties agreed on")
	case d.CreatedAt < t.Deadline:
		return invalid("the deadline of the contract, %d, is not over", t.Deadline)
	}
	return nil
}
