package store

import (
	"log/slog"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/retention"
	"engramd/internal/share"
)

// Options say how a store is opened. Path and Table are required; a zero elsewhere means the default named there.
type Options struct {
	Path    string // the database file; its folder must exist
	Readers int    // how many read at a time; default 4
	// ReadOnly opens an existing database beside the process that writes it, for export, check and backup: no write, no
	// migration, writes answer ErrReadOnly, LastSeq stands still. A database of an older version is ErrOlder, unless
	// Scratch or AsIs says otherwise.
	ReadOnly bool
	// Scratch is a folder in which a database of an older version is copied, to be read there once the copy is up to
	// date. Close removes it. It needs 2.5 times the size of the database.
	Scratch       string
	AsIs          bool                                 // an older version is good for Backup, and for nothing else
	Table         *gate.Table                          // read rules: they class every event that is stored
	Clock         func() time.Time                     // default time.Now
	After         func(time.Duration) <-chan time.Time // wakes housekeeping; default time.After
	MaxBatch      int                                  // events in one transaction; default 2048
	MaxQueue      int                                  // events of one share waiting for the writer; default 2 × MaxBatch
	MaxQueueBytes int                                  // cost of them, about bytes of JSON; default 8 MiB; of all shares at most twice as much
	CacheBytes    int64                                // page cache of the writer and of each reader; default 64 MiB and 16 MiB
	MaxLogBytes   int64                                // size of the write-ahead log beyond which scans are ended for it; default 128 MiB
	Log           *slog.Logger                         // default: discard
	Observe       Observer                             // default: none
	// OnCommit gets what was stored, in seq order, after the commit is durable and LastSeq moved and before anybody's
	// Wait returns. It runs on the writer's goroutine: it must not block and must not call the store's write methods.
	OnCommit func([]Committed)
	Live     // what SetOptions may change later

	pacing pacing
}

// Live holds the options that may change while the store is open.
type Live struct {
	Versions     int   // superseded versions kept per address of a gated kind; default 100, negative keeps none
	Days         int   // days they are kept; default 365, negative for ever
	ContractDays int   // days contract history is kept after the final state; 0 for ever
	MaxBytes     int64 // largest size of the database file (page limit), 0 none
	// QueryTimeout bounds every read: as work that takes about so long when nobody else reads, counts and searches also by
	// the clock, waiting for their turn included. Default 10 s, negative none.
	QueryTimeout time.Duration
	StrictIDs    bool // a new contract needs an id that cannot be guessed (30-nip-temp)
	Quota        Quota
	Retention    []retention.Rule // applied at open, at a change, and every hour
}

// Quota bounds what one author may keep in events and history together. Zero means unlimited. A bound that nobody has
// configured (Default…) does not hold who is above it already: see Check.
type Quota struct {
	Events        int64
	Bytes         int64 // of stored JSON
	DefaultEvents bool
	DefaultBytes  bool
}

// Observer is told what the store did; *metrics.Metrics is one. Its methods are called from the store's goroutines and
// must not block.
type Observer interface {
	// CommitDone reports one write transaction: its time up to the end of the fsync, how many events shared it, and
	// whether it was made durable.
	CommitDone(took time.Duration, events int, ok bool)
	// QueryDone reports one call of a read method ("query", "count", "search", "history", "export") and how it failed:
	// "" (it did not), "timeout", "ended" (in favour of others), "canceled" or "error".
	QueryDone(operation string, took time.Duration, failure string)
	// ReadWaited reports that a read had to wait for its turn, "look_up" or "scan".
	ReadWaited(effort string, took time.Duration)
	// Removed reports events and superseded versions that are gone: "deletion", "vanish", "expiry", "history", "ban",
	// "operator" or "retention".
	Removed(reason string, n int)
	// NoRoom reports events that could not be stored because the disk, or the limit of the database's size, is reached.
	NoRoom(events int)
	// Retired reports heads and regular events of one gate class that retention removed.
	Retired(class string, n int)
	// QueueAdd moves the depth of the writer's queue ("store_writer") by n.
	QueueAdd(queue string, n int)
}

// Outcome is what became of an event. String is the metric label.
type Outcome int

// The outcomes of Put, in no particular order; the answers belonging to them are in Result.Message.
const (
	Stored    Outcome = iota // new, and nothing was superseded
	Replaced                 // new head of its address, an older version was superseded
	Duplicate                // this very event is here already, as head, regular event or history
	Stale                    // a newer (or equal and lower-id) head exists
	Deleted                  // its author had it deleted (NIP-09, NIP-62), or the operator banned it
	Conflict                 // PutOptions.Base is not the head of its address
	Refused                  // lifecycle or quota: Message is "invalid: …" or "blocked: …"
	Failed                   // the store failed: nothing is known to be kept, Err says why
)

// String returns the outcome's metric label.
func (o Outcome) String() string {
	switch o {
	case Stored:
		return "stored"
	case Replaced:
		return "replaced"
	case Duplicate:
		return "duplicate"
	case Stale:
		return "stale"
	case Deleted:
		return "deleted"
	case Conflict:
		return "conflict"
	case Refused:
		return "refused"
	case Failed:
		return "failed"
	}
	return "unknown"
}

// OK reports whether the client is told true: this very event is here.
func (o Outcome) OK() bool { return o == Stored || o == Replaced || o == Duplicate }

// The answer texts of 40-relay-behaviour.
const (
	MsgDuplicate = "duplicate: already have this event"
	MsgDeleted   = "blocked: deleted by its author"
	MsgStale     = "duplicate: a newer version is stored"
	MsgConflict  = "conflict: another version is the head"
)

// Result is the answer to one Put.
type Result struct {
	Outcome Outcome
	Seq     int64  // of the stored event; 0 when it was not stored as head or regular event
	Message string // text for the client with its prefix; "" for Stored, Replaced and Failed
	Err     error  // set for Failed only
}

// PutOptions vary one Put.
type PutOptions struct {
	// Import says that the event comes from an import or a restore: no lifecycle check (30-nip-temp), no quota.
	// Deletions and vanish requests still block.
	Import bool
	// Base makes the write a compare-and-set (20-nip-ae): the event is stored only if
	// it becomes the head of its address and this one is the head before, by id; the
	// zero id stands for none. Otherwise the outcome is Conflict. Only replaceable and
	// addressable events have one. nil asks for nothing.
	Base *[32]byte
	// Forward names further relays for which the outbox gets a contract event in the very commit in which it is stored.
	Forward []string
	// KnownOnly says that who sends the event has guessed too many contract ids: a contract event is refused without a look
	// at whose the contract is, unless its author has a part in it or made the id.
	KnownOnly bool
}

// Committed is one event that became durable.
type Committed struct {
	Event *nostr.Event
	JSON  []byte // as stored; shared, not to be changed
	Seq   int64
	Class gate.Class
	Who   share.Who // sent it; zero for what the relay itself brought: imports, restores
}

// Position is where a page ended: the sort key of its last row.
type Position struct {
	CreatedAt int64
	ID        [32]byte
	Rank      float64 // search only
}

// Row is one stored event.
type Row struct {
	Seq       int64
	CreatedAt int64
	ID        [32]byte
	JSON      []byte // exactly as it was written; owned by the receiver
}

// Page is one piece of an answer.
type Page struct {
	Rows []Row
	More bool // rows may follow: ask again with After set to the last row's position
	// States is of how many states of the database the rows are. More than one means that others had to read in between.
	States int
}

// Ask is one filter with the scope that the gate granted for it.
type Ask struct {
	Scope    gate.Scope
	Filter   nostr.Filter // Limit is the caller's business; Search only by Search
	Above    int64        // only what arrived after this seq; 0 for all
	After    *Position    // nil starts at the newest
	MaxRows  int          // per page; 0 means a default of the store
	MaxBytes int          // of JSON per page, at least one row is returned; 0 means a default of the store
}

// HistoryQuery asks for superseded versions. Kind and Author are required.
type HistoryQuery struct {
	Kind   int
	Author string    // 64 lower-case hex
	D      *string   // nil: every address
	Until  *int64    // created_at, inclusive
	After  *Position // resume behind this row; nil starts at the newest
	// Of one address of contract memory versions come by arrival, the last first: Before is the id of a version to resume behind,
	// and Below its Seq, which a caller of several pages knows.
	Before string
	Below  int64
	// Arrivals adds to versions of contract memory, behind the members of the event, which number they have, when they came and
	// whether they were withdrawn. Not every reader of events passes over what he does not know.
	Arrivals bool
	Limit    int // 0 means 100
	// MaxBytes of JSON, at least one row is returned; 0 means 8 MiB.
	MaxBytes int
}

// Report is what Check found.
type Report struct {
	Problems []Problem
	Events   int64   // heads and regular events looked at
	History  int64   // superseded versions looked at
	Above    []Usage // authors above a default quota, which does not hold them
	// Contracts that are not what an id means, states that do not follow, and decisions that do not hold: up to a hundred of each.
	Displaced []Displaced
	Astray    []Astray
	Vain      []Astray
	// SameNames are agent ids that look alike, from before such names were refused: each list is of one name.
	SameNames [][]string
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Displaced is a contract under an id that is another poster's. Its parties may still read it.
type Displaced struct{ Contract, Poster string }

// Astray is a state that is stored and does not follow from those that were adopted.
type Astray struct{ Contract, EventID string }

// Problem is one finding of Check.
type Problem struct {
	Check  string // "integrity", "json", "class", "tags", "heads", "states", "threads", "order", "usage", "keys"
	Detail string // what was found; names seq numbers, no ids or keys
	Advice string // what the operator can do
}

// Pending is an event on its way to disk.
type Pending struct {
	rec    *record
	who    share.Who // sent it
	opts   PutOptions
	job    func(*writer) error // the store's own work, in place of an event
	size   int
	again  bool // tried before, when deleted texts took the room
	done   chan struct{}
	result Result
}

// Done is closed when the result is known.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait returns the result as soon as it is known. The writer always answers, also when the store closes.
func (p *Pending) Wait() Result {
	<-p.done
	return p.result
}

// finish makes the result known. The writer calls it once.
func (p *Pending) finish(r Result) {
	p.result = r
	close(p.done)
}
