package store

import "errors"

// Errors of the contract memory's own tables.
var (
	// ErrContractMoved means that the contract is not, or no longer, in the
	// state that the caller assumed.
	ErrContractMoved = errors.New("the contract is in another state")
	// ErrEntryTaken means that the thread has an entry with this id.
	ErrEntryTaken = errors.New("the entry id is taken")
	// ErrEntriesFull means that the author has as many private entries in the
	// thread as one may have.
	ErrEntriesFull = errors.New("too many private entries")
)

// ContractPair is the state of a contract between two keys, with what was
// agreed through the API. Keys are 64 lower-case hex digits, times Unix
// seconds.
type ContractPair struct {
	Contract   string
	Poster     string
	Worker     string // "" while none is named
	Status     string
	MovedAt    int64  // created_at of the event that led here, or the time of a decision
	EventID    string // of that event; of the last one before a decision
	At         int64  // when the store heard of the pair
	N          int64  // the order in which pairs appeared
	Deadline   int64  // 0 for none
	Arbitrator string // "" for none
	Unproven   bool   // it was imported without the open that it begins with
}

// ContractTerms are the terms of a contract that no event says.
type ContractTerms struct {
	Deadline   int64  // 0 for none
	Arbitrator string // "" for none
}

// ContractDecision is a move that no party made.
type ContractDecision struct {
	Was, Status string
	By          string // "operator", "arbitrator" or "deadline"
	Key         string // whose decision, "" for the deadline that this relay alone saw pass
	Note        string
	At          int64
	EventID     string // "" where it holds on this relay only, and where its event is gone
	Gone        bool   // there was an event, of which a gap is left
}
