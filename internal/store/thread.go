package store

import "errors"

// ErrNoPlace means that the entry behind which others were asked for is not
// there any more.
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
	N, K          int64  // its number; of a private one the number after which it came, and which of its author's it is
	Withdrawn     int64  // when its author took it back, 0 for never
	Request       []byte // the id of the deletion request by which he did, nil where it is not known
	Data          []byte // the event's JSON, or a private entry's sealed text
}

// Thread selects entries: those the poster and the worker addressed to each
// other, and those the poster wrote while no worker was named.
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

// ThreadGroup counts entries that have an author, whom they are addressed to, a
// type and a form in common.
type ThreadGroup struct {
	Author      string
	Type        string
	Form        EntryForm
	Count       int
	Published   int
	First, Last int64 // created_at, of all that the reader sees of this author to this key
}

// ThreadMove is one state event of a contract.
type ThreadMove struct {
	N         int64 // its number in the order of arrival
	ArrivedAt int64
	Withdrawn int64  // when its author took it back, 0 for never
	Request   []byte // id of the request by which he did, nil where it is not known
	Data      []byte // the event's JSON
}

// OrderItem is what has one number of a thread: a state, a shared entry, or a
// gap, which says what was there and has no id.
type OrderItem struct {
	N          int64
	ReceivedAt int64
	ID         []byte // 32 bytes, nil for a gap
	Gap        *Gap   // nil for what is there
}

// Gap is what is left of what had to go: neither key nor id. Status and what
// follows it are of a state alone.
type Gap struct {
	Type             string // of the entry, or "state"
	Role             string // of its author, "" where it was not known
	Status, Previous string
	CreatedAt        int64
}
