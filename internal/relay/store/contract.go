package store

import (
	"errors"
	"strings"
)

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

// ErrNoPlace means that the entry after which others were asked for is no
// longer there.
var ErrNoPlace = errors.New("there is no such place in the thread")

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
	N, K          int64  // its number; for a private entry the number after which it came, and its place among its author's
	Withdrawn     int64  // when its author withdrew it, 0 for never
	Request       []byte // the id of the deletion request, nil where it is not known
	Data          []byte // the event's JSON, or a private entry's sealed text
}

// Thread selects entries: those the poster and the worker addressed to each
// other, and those the poster wrote while no worker was named.
type Thread struct {
	Contract, Poster string
	Worker           string // "" while none is named
	Talk             bool   // no state is known: what the poster addressed to their own key is then not part of the thread
	Party            bool   // the reader is one of the two, and may see sealed entries
	Whole            bool   // withdrawn entries are seen too
	Sealed           bool   // sealed entries are counted and listed for one who may not read them
	Reader           string // whose private entries are seen too, "" for nobody's
	Type             string // "" for all
	Author           string // "" for all
	Private          *bool  // nil for both
}

// ThreadGroup counts the entries that share an author, an addressee, a type and
// a form.
type ThreadGroup struct {
	Author      string
	Type        string
	Form        EntryForm
	Count       int
	Published   int
	First, Last int64 // created_at, of all that the reader sees from this author to this key
}

// ThreadMove is one state event of a contract.
type ThreadMove struct {
	N         int64 // its number in the order of arrival
	ArrivedAt int64
	Withdrawn int64  // when its author withdrew it, 0 for never
	Request   []byte // id of the deletion request, nil where it is not known
	Data      []byte // the event's JSON
}

// OrderItem is what one number of a thread stands for: a state, a shared entry,
// or a gap, which says what was there and has no id.
type OrderItem struct {
	N          int64
	ReceivedAt int64
	ID         []byte // 32 bytes, nil for a gap
	Gap        *Gap   // nil for what is there
}

// Gap is what remains of an event that had to be removed, without key or id.
// Only a gap left by a state has Status and the fields after it.
type Gap struct {
	Type             string // of the entry, or "state"
	Role             string // of its author, "" where it was not known
	Status, Previous string
	CreatedAt        int64
}

// IsEntryID reports whether s is "mem_" and 12 lower-case hex digits.
func IsEntryID(s string) bool {
	rest, ok := strings.CutPrefix(s, "mem_")
	return ok && len(rest) == 12 && strings.Trim(rest, "0123456789abcdef") == ""
}
