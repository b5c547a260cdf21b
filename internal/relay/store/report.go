package store

import (
	"fmt"
	"time"
)

// Report is what Check found.
type Report struct {
	Problems []Problem
	Events   int64   // heads and regular events looked at
	History  int64   // superseded versions looked at
	Above    []Usage // authors above a default quota, which is not applied to them
	// Up to a hundred contracts that their id does not mean, and of each kind
	// of state or decision that does not follow.
	Displaced []Displaced
	Astray    []Astray
	Vain      []Astray // decisions that do not hold
	// SameNames lists agent ids that look alike, from before such names were
	// refused; each list holds those that count as one name.
	SameNames [][]string
}

// MostProblems bounds each list of a report; a database with more is damaged
// all over.
const MostProblems = 100

// What the operator can do about a problem.
const (
	AdviceRestore = "stop engramd, keep the damaged file, restore the last backup and import what is newer from an export"
	AdviceHeal    = "engramd import of an earlier backup's export, engramd sync with a relay that has them, or their authors' engramctl repair: the same event heals its row"
	AdviceRebuild = "export with --history, import into a new data folder, and keep the old one until that is checked"
)

// Found notes a problem, with what the operator can do about it.
func (r *Report) Found(check, advice, detail string, args ...any) {
	if len(r.Problems) < MostProblems {
		r.Problems = append(r.Problems, Problem{Check: check, Detail: fmt.Sprintf(detail, args...), Advice: advice})
	}
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Displaced is a contract whose id belongs to another poster. Its parties may
// still read it.
type Displaced struct{ Contract, Poster string }

// Astray is a stored state that does not follow from those that were adopted.
type Astray struct{ Contract, EventID string }

// Problem is one finding of Check.
type Problem struct {
	Check  string // "integrity", "json", "class", "tags", "heads", "states", "threads", "order", "usage", "keys"
	Detail string // what was found; names seq numbers, no ids or keys
	Advice string // what the operator can do
}

// Usage is what one author keeps, events and superseded versions together.
type Usage struct {
	Author string // hex
	Events int64
	Bytes  int64 // of stored JSON
}

// Reads counts the reads under way and those that wait for a turn; and, since
// the store was opened, the turns given away in the middle of a read, and the
// reads ended so that others could begin or the write-ahead log could be
// written back.
type Reads struct {
	Waiting  int
	UnderWay int
	Yields   int64
	Ended    int64
}

// Recent is how fast the database was recently.
type Recent struct {
	Commits       int // that the durations are of, 1,024 at most
	P50, P99, Max time.Duration
	Reads         []SlowRead // slowest first, of the last ten minutes
}

// SlowRead is one slow read call, without anything that the filter said.
type SlowRead struct {
	At        time.Time
	Operation string // "query", "count", "search", "history" or "export"
	Plan      string // what a query was answered from: "id", "author", "tag #t", …; "" for other operations
	Took      time.Duration
	Failure   string // "" when there was none
}

// Space reports how full the database is, in bytes.
type Space struct {
	Database int64 // all pages, also those still in the write-ahead log
	Free     int64 // pages that are reused before the file grows
	WAL      int64
	Max      int64 // store.max_bytes; 0 is no limit
}

// UnsignedKind names what a database holds that no event says.
type UnsignedKind string

// The kinds, and what their rows begin with.
const (
	UnsignedCall     UnsignedKind = "operator's call"     // method, parameters as JSON: bans, approvals, removals, the relay's name
	UnsignedIdentity UnsignedKind = "identity"            // agent id, key, how it came: "bind", "provision", "claim"
	UnsignedToken    UnsignedKind = "token"               // agent id, hash: never to be shown
	UnsignedEntry    UnsignedKind = "private entry"       // contract, type, author
	UnsignedDecision UnsignedKind = "operator's decision" // contract, status, note
)

// Unsigned is one of these. Two are the same if their rows are.
type Unsigned struct {
	Kind UnsignedKind
	Row  []string
}
