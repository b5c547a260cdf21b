package store

import "errors"

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
