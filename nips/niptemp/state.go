package niptemp

import "github.com/nbd-wtf/go-nostr"

// State is where one contract stands between one pair of keys (NIP-TEMP, "Whose
// word counts"). A contract id may have several states, one per pair {author,
// p}: a stranger's events concern only the stranger's own.
type State struct {
	// Contract is the contract id.
	Contract string
	// Poster is the pubkey of the author of the first open, in hex.
	Poster string
	// Worker is the pubkey of the other party; empty while the open is
	// addressed to the poster's own key.
	Worker string
	// Status is the current status.
	Status Status
	// CreatedAt is that of the event which led here, in Unix seconds.
	CreatedAt int64
	// EventID is the id of that event.
	EventID string
}

// CheckEntry judges whether an entry may be written while its pair is in s
// (NIP-TEMP, "Lifecycle"): while open, by the poster; in a final state, only if
// it is no younger than the final event (it arrives late); else by both. A nil
// s, of a pair the relay knows nothing of, accepts everything. The entry is one
// of this contract and pair, or, for the open that a poster addressed to their
// own key, to or by the poster. Errors are "blocked".
func (s *State) CheckEntry(ev *nostr.Event) error {
	switch {
	case s == nil:
		return nil
	case s.Status.Final():
		if int64(ev.CreatedAt) > s.CreatedAt {
			return blocked("contract %s is %s", s.Contract, s.Status)
		}
		return nil
	case ev.PubKey == s.Poster:
		return nil
	case s.Status == Open:
		return blocked("contract %s is open: only its poster writes until it is accepted", s.Contract)
	case ev.PubKey != s.Worker:
		return blocked("contract %s is between others", s.Contract)
	}
	return nil
}

// Next applies one kind-30091 event to the state of its pair and returns the
// state it leads to, or a refusal that is "invalid". Whether its time is right
// is a question to CheckTime.
//
// current is the pair's state; if the pair {author, p} has none and the event
// is not addressed to its own author, it is the state of the open that either
// of the two addressed to their own key, under the same contract id; nil if
// there is none either. The state returned belongs to the pair {author, p}: the
// open a poster addressed to their own key stays as it is, for others to
// accept.
func Next(current *State, ev *nostr.Event) (State, error) {
	t, err := StepOf(ev)
	if err != nil {
		return State{}, err
	}
	return current.next(t)
}

func (s *State) next(t Step) (State, error) {
	if s == nil {
		if t.Status != Open || t.Previous != "" {
			return State{}, invalid("no state of contract %s is known between these keys: it begins with an open", t.Contract)
		}
		return t.begin(), nil
	}
	if t.Contract != s.Contract {
		return State{}, invalid("the event is about another contract")
	}
	if s.offeredTo(t) {
		return t.begin(), nil
	}
	if t.Previous != s.Status {
		return State{}, invalid("previous_status is not the contract's current status, %s", s.Status)
	}
	allowed := mover(s.Status, t.Status)
	if allowed == 0 {
		return State{}, invalid("a contract does not go from %s to %s", s.Status, t.Status)
	}
	acting, worker, err := s.roleOf(t)
	if err != nil {
		return State{}, err
	}
	if allowed&acting == 0 {
		return State{}, invalid("only %s moves a contract from %s to %s", allowed, s.Status, t.Status)
	}
	return State{Contract: t.Contract, Poster: s.Poster, Worker: worker, Status: t.Status, CreatedAt: t.CreatedAt, EventID: t.ID}, nil
}

// maxBehind is how many seconds a state may be older than the one it follows:
// the clocks of two parties differ.
const maxBehind = 60

// CheckTime judges when a state was signed (NIP-TEMP, "States"): later than its
// author's last of this contract, between whatever keys, and not much earlier
// than s, which it follows (nil for none). last is the created_at of the
// former, 0 for none. Errors are "invalid".
func (s *State) CheckTime(at, last int64) error {
	switch {
	case last != 0 && at == last:
		return invalid("its author's last state of this contract is of the same second, and relays would keep either of the two: wait a second and sign it again")
	case last != 0 && at < last:
		return invalid("created_at must be later than that of its author's last state of this contract")
	case s != nil && at < s.CreatedAt-maxBehind:
		return invalid("created_at must not be more than %d seconds earlier than that of the state it follows", maxBehind)
	}
	return nil
}

// begin returns the state that an open leads to.
func (t Step) begin() State {
	s := State{Contract: t.Contract, Poster: t.Author, Status: t.Status, CreatedAt: t.CreatedAt, EventID: t.ID}
	if t.To != t.Author {
		s.Worker = t.To
	}
	return s
}

// offeredTo reports whether t is the poster's naming of a worker for the open
// that they had addressed to their own key: the same contract, open, offered to
// a key.
func (s *State) offeredTo(t Step) bool {
	return s.Worker == "" && s.Status == Open && t.Status == Open && (t.Previous == "" || t.Previous == Open) &&
		t.Author == s.Poster && t.To != t.Author
}

// roleOf returns what the author of t is in s, and who the worker is after t.
func (s *State) roleOf(t Step) (acting role, workerAfter string, err error) {
	switch {
	case s.Worker != "":
		switch {
		case t.Author == s.Poster && t.To == s.Worker:
			return poster, s.Worker, nil
		case t.Author == s.Worker && t.To == s.Poster:
			return worker, s.Worker, nil
		}
	case t.Author == s.Poster:
		if t.To == s.Poster {
			return poster, "", nil
		}
		return poster, t.To, nil
	case t.To == s.Poster:
		// Nobody yet: whoever accepts becomes the worker, and may do nothing
		// else.
		if t.Status != Accepted {
			return 0, "", invalid("an offer that names no worker can only be accepted")
		}
		return worker, t.Author, nil
	}
	return 0, "", invalid("the event is between other keys than the contract")
}
