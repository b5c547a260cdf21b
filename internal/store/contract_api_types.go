package store

import "errors"

// Errors of the contract memory's own tables.
var (
	// ErrContractMoved means that the contract is not, or no longer, in the state the caller took it to be in.
	ErrContractMoved = errors.New("the contract is in another state")
	// ErrEntryTaken means that the thread has an entry with this id.
	ErrEntryTaken = errors.New("the entry id is taken")
	// ErrEntriesFull means that the author has as many private entries in the thread as he may.
	ErrEntriesFull = errors.New("too many private entries")
)

// ContractPair is where a contract stands between two keys, and what was agreed on through the API. Keys are 64
// lower-case hex digits, times Unix seconds.
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

// ContractTerms is what no event says of a contract.
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

// EntryForm says what an entry is and who may read it.
type EntryForm int64

// The forms, as they lie in the database.
const (
	EntryShared EntryForm = iota
	EntrySealed           // shared, a NIP-44 payload for the parties
	EntryPrivate
)

// ThreadEntry is one entry of the thread between two keys.
type ThreadEntry struct {
	Author, Other string
	CreatedAt     int64
	ArrivedAt     int64
	ID            []byte // the event's, 32 bytes; 6 bytes of a private entry
	Form          EntryForm
	Type, Entry   string
	Published     bool   // the relay has the event
	N, K          int64  // its number; of a private one the number after which it came, and which of its author's it is
	Withdrawn     int64  // when its author took it back, 0 for never
	Request       []byte // the id of the deletion request by which he did, nil where it is not known
	Data          []byte // the event's JSON, or a private entry's sealed text
}

// Thread selects entries: those the poster and the worker addressed to each other, and those the poster wrote while no
// worker was named.
type Thread struct {
	Contract, Poster string
	Worker           string // "" while none is named
	Talk             bool   // no state is known: what the poster wrote to himself is no part of what he said to the worker
	Party            bool   // the reader is one of the two, and may see sealed entries
	Whole            bool   // withdrawn entries are seen too
	Sealed           bool   // sealed entries are counted and listed for one who may not read them
	Reader           string // whose private entries are seen too, "" for nobody's
	Type             string // "" for all
	Author           string // "" for all
	Private          *bool  // nil for both
}

// ThreadGroup counts entries that have an author, whom they are addressed to, a type and a form in common.
type ThreadGroup struct {
	Author      string
	Type        string
	Form        EntryForm
	Count       int
	Published   int
	First, Last int64 // created_at, of all that the reader sees of this author to this key
}
