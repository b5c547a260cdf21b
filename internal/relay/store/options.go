package store

import (
	"errors"
	"time"

	"engramd/internal/relay/retention"
)

// Live holds the options that may change while the store is open.
type Live struct {
	Versions     int   // superseded versions kept per address of a gated kind; default 100, negative keeps none
	Days         int   // days they are kept; default 365, negative for ever
	ContractDays int   // days contract history is kept after the final state; 0 for ever
	MaxBytes     int64 // largest size of the database file (page limit), 0 none
	// QueryTimeout bounds every read: as the work that takes about this long
	// when nobody else reads. Counts and searches are bounded by the clock too,
	// with the time that they wait for their turn. Default 10 s; negative means
	// no bound.
	QueryTimeout time.Duration
	StrictIDs    bool // a new contract needs an id that cannot be guessed (NIP-TEMP)
	Quota        Quota
	Retention    []retention.Rule // applied at open, at a change, and every hour
}

// Quota bounds what one author may keep in events and history together. Zero
// means unlimited. A bound that was not configured (Default…) spares authors
// who are above it already: see Check.
type Quota struct {
	Events        int64
	Bytes         int64 // of stored JSON
	DefaultEvents bool
	DefaultBytes  bool
}

// Observer is notified of what the store did; *metrics.Store is one. Its
// methods are called from the store's goroutines and must not block.
type Observer interface {
	// CommitDone reports one write transaction: its time up to the end of the
	// fsync, how many events shared it, and whether it was made durable.
	CommitDone(took time.Duration, events int, ok bool)
	// QueryDone reports one call of a read method ("query", "count", "search",
	// "history", "export") and how it failed: "" (it did not), "timeout",
	// "ended" (in favour of others), "canceled" or "error".
	QueryDone(operation string, took time.Duration, failure string)
	// ReadWaited reports that a read had to wait for its turn, "look_up" or
	// "scan".
	ReadWaited(effort string, took time.Duration)
	// Removed reports events and superseded versions that were removed, with
	// the reason: "deletion", "vanish", "expiry", "history", "ban", "operator"
	// or "retention".
	Removed(reason string, n int)
	// WriteFailed reports events that could not be stored, and why: "full" (the
	// disk, or the database has reached its size), "io", "corrupt", "database"
	// (anything else that SQLite says) or "fault" (of the program).
	WriteFailed(cause string, events int)
	// Rotten reports a stored row that was found not to be as it was written.
	Rotten()
	// Retired reports how many heads and regular events of one gate class were
	// removed by retention.
	Retired(class string, n int)
	// QueueAdd moves the depth of the writer's queue ("store_writer") by n.
	QueueAdd(queue string, n int)
}

var (
	// ErrTimeout means that a read took more than Options.QueryTimeout or the
	// caller's deadline allowed.
	ErrTimeout = errors.New("the query took too long")
	// ErrUnanswered means that it is not known whether what was written entered the log
	// that several stores execute.
	ErrUnanswered = errors.New("the log did not answer in time: it is not known what became of this")
	// ErrUnsynced means that the log of several stores is kept by servers that are known
	// not to sync what they acknowledge, so that nothing is written.
	ErrUnsynced = errors.New("a server of the log does not sync what it acknowledges: what is written could be lost")
	// ErrClosed means that the store is closed or closing.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly means that the store was opened with Options.ReadOnly.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrFull means that the disk is full, or that the database has reached its
	// configured size.
	ErrFull = errors.New("the database is full")
	// ErrUnreadable means that pages of the database cannot be read.
	ErrUnreadable = errors.New("pages of the database cannot be read")
	// ErrRestart means that an option cannot change while the store is open.
	ErrRestart = errors.New("this change needs a restart")
)

// ErrClock means that the clock is not confirmed, so that nothing goes by it.
var ErrClock = errors.New("clock not confirmed")

// ErrShared means that a database is a node's of a cluster, and may be changed
// through that node only.
var ErrShared = errors.New("this database is a node's of a cluster, and is changed through the running node only (engramd serve --cluster); engramd cluster leave makes it one that stands alone")

// ErrOtherGate means that a node's stored events are classed by other rules, or
// by another program's table of kinds, than this one has: the other nodes go on
// by those.
var ErrOtherGate = errors.New("the gate's rules or its table of kinds are not those by which the cluster's events are classed: stop all nodes, leave with one, and begin again with these (docs/cluster.md)")

// ErrEnded means that a read that cannot be resumed was ended half-way, because
// other reads could not begin or the write-ahead log could not be written back.
// The read may be tried again.
var ErrEnded = errors.New("the query was ended in favour of others")

// ErrFilter means that the store has no index for a filter, or that the filter
// was given to the wrong method. The strict parser and the relay rule both out.
var ErrFilter = errors.New("the store cannot answer this filter")

// ErrMany means that more events match than the caller takes.
var ErrMany = errors.New("more events match than are wanted")

// ErrNoSearch means that the program was built without full-text search (build
// tag sqlite_fts5).
var ErrNoSearch = errors.New("built without full-text search")
