package store

import "errors"

// ErrAdminFull means that a list of the management API has as many entries as
// it may.
var ErrAdminFull = errors.New("the list is full")

// AdminList names one of the lists that the management API (NIP-86) keeps in
// the database.
type AdminList string

// The lists. What a key is: 64 lower-case hex digits of a pubkey or an event
// id, a kind as decimal text, a network in CIDR notation, the name of a field
// of the NIP-11 document.
const (
	AdminPubkeys  AdminList = "pubkey"
	AdminEvents   AdminList = "event"
	AdminKinds    AdminList = "kind"
	AdminNetworks AdminList = "network"
	AdminInfo     AdminList = "info"
)

// AdminVerdict is what a list says about a key.
type AdminVerdict string

// The verdicts. A key has one of them in each list, or none.
const (
	AdminNone    AdminVerdict = "" // takes the entry away
	AdminBanned  AdminVerdict = "banned"
	AdminAllowed AdminVerdict = "allowed"
	AdminSet     AdminVerdict = "set" // AdminInfo only: Text is the field's value
)

// AdminOperator takes the place of key and signature in the audit table where
// the operator ran a command on the machine itself and no key was used.
const AdminOperator = "0000000000000000000000000000000000000000000000000000000000000000"

// AdminEntry is one entry of a list.
type AdminEntry struct {
	List    AdminList
	Key     string
	Verdict AdminVerdict
	Text    string // the reason, or a value
}

// AdminCall is one row of the audit table.
type AdminCall struct {
	N       int64  // its number; given by the database
	At      int64  // Unix seconds; given by the store
	Key     string // who: 64 lower-case hex digits
	Auth    string // id of the NIP-98 event, 64 lower-case hex digits
	Address string // the client's, "" when unknown
	Method  string
	Params  *string // JSON of what was understood; nil when it was not
	Digest  [32]byte
	Outcome string // "ok", "refused", …
	Detail  string
}

// UsedCall is a NIP-98 event that signed a change over HTTP.
type UsedCall struct {
	ID, Key string // 64 lower-case hex digits
	At      int64  // Unix seconds
}

// Removal counts, by kind, the events that the operator's filters match, or
// that were removed by them.
type Removal struct {
	Events      map[int]int64 // heads and regular events
	Versions    map[int]int64 // superseded versions
	Quarantined map[int]int64 // what rollbacks took away and is still kept
	// Spared counts events that match but stay, from all three: their kinds
	// have to be named (retention.MustBeNamed), and no filter that matches
	// names them.
	Spared map[int]int64
}

// OutboxLocal names this relay among the targets of the outbox; all others are
// URLs.
const OutboxLocal = ""

// ErrOutboxFull means that no further event may wait in the outbox.
var ErrOutboxFull = errors.New("the outbox is full")

// OutboxItem is an event on its way to a target.
type OutboxItem struct {
	N        int64 // the order in which events were given
	Contract string
	Author   string // 64 lower-case hex digits
	Queued   int64  // Unix seconds
	JSON     []byte
	Ahead    bool // this relay has not taken the event yet, and it is another target's item
}

// ContractRefusal is a relay's refusal of an event in the outbox.
type ContractRefusal struct {
	Target string // a URL, or OutboxLocal
	Reason string // a machine-readable word, as "blocked"
	At     int64  // of the first refusal, Unix seconds
	Final  bool   // it is not tried again
}
