package store

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/nips/niptemp"
)

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
	// States is the number of states of the database that the rows come from.
	// More than one means that other reads had their turn in between.
	States int
}

// Ask is one filter with the scope that the gate granted for it.
type Ask struct {
	Scope    gate.Scope
	Filter   nostr.Filter // Limit is up to the caller; Search is for Search only
	Above    int64        // only events that arrived after this seq; 0 for all
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
	// Versions of one address of contract memory are ordered by arrival, the
	// last first: Before is the id of a version to resume behind, and Below its
	// Seq, which a caller of several pages knows.
	Before string
	Below  int64
	// Arrivals appends to versions of contract memory, after the event's own
	// members, their number, when they arrived and whether they were withdrawn.
	// It is an option because not every reader of events ignores unknown
	// members.
	Arrivals bool
	Limit    int // 0 means 100
	// MaxBytes bounds the JSON of a page, which has at least one row; 0 means 8
	// MiB.
	MaxBytes int
}

// HistoryAfter asks for everybody's superseded versions, in the order of their
// numbers.
type HistoryAfter struct {
	After int64 // the number behind which to go on
	Kinds []int // nil: all
	// Since leaves out contract memory, of which everything is found by its
	// number, and what was superseded before that time; nil is no condition.
	Since    *int64
	Arrivals bool // as of HistoryQuery
	Limit    int  // 0 means 100
	MaxBytes int  // of JSON, at least one row is returned; 0 means 8 MiB
}

// ByArrival reports whether versions come in the order of arrival.
func (q *HistoryQuery) ByArrival() bool {
	return (q.Kind == niptemp.KindEntry || q.Kind == niptemp.KindState) && q.D != nil
}

// Hits are the ranked results of one search. They hold nothing open between
// pages. Use them from one goroutine.
type Hits interface {
	// Next returns the next page of hits in their order; zero bounds mean the
	// store's own. It leaves out what was deleted, superseded or expired since
	// the search. More is false on the last page. Errors are those of Query;
	// after one, the same page may be asked for again.
	Next(ctx context.Context, maxRows, maxBytes int) (Page, error)
	// Cut reports whether there are further matches beyond the limit.
	Cut() bool
}
