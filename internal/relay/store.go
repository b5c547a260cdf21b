package relay

import (
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
	"engramd/nips/nip77"
)

// Store is what the relay needs of a database; *sqlite.Store is one. What each
// method promises stands at package store, and with its methods in full.
type Store interface {
	// Begin queues one event for the writer and returns without waiting for the
	// commit; it blocks while the queue is full.
	Begin(ctx context.Context, ev *nostr.Event, o store.PutOptions) (store.Pending, error)
	// Query returns the next page of the events that the filter matches and the
	// scope shows: newest first, ties by lowest id, without any that has
	// expired.
	Query(ctx context.Context, ask store.Ask) (page store.Page, err error)
	// Search ranks the events that contain all words of the filter's Search,
	// that its other conditions match and that the scope shows: best match
	// first, then newest, then lowest id.
	Search(ctx context.Context, ask store.Ask) (out store.Hits, err error)
	// SearchEnabled reports whether there is a full-text index.
	SearchEnabled() bool
	// Count returns how many distinct events the asks match together, each
	// within its own scope: exactly those that Query, or Search, would return
	// without any limit.
	Count(ctx context.Context, asks []store.Ask) (n int64, err error)
	// IDs returns the times and ids of those that Count counts for one ask, of
	// one state: of more than most none, but ErrMany. room is told how many come
	// before memory is taken for them, and may refuse.
	IDs(ctx context.Context, ask store.Ask, most int, room func(n int) error) ([]nip77.Item, error)
	// History returns superseded versions of one author and kind, of one address
	// when D is given: newest first, ties by lowest id.
	History(ctx context.Context, scope gate.Scope, q store.HistoryQuery) (rows []store.Row, more bool, err error)
	// HistoryAfter returns everybody's superseded versions in the order of their
	// numbers, and up to which number all was looked at.
	HistoryAfter(ctx context.Context, scope gate.Scope, q store.HistoryAfter) (rows []store.Row, to int64, err error)
	// LastSeq is the highest sequence number that every reader can see.
	LastSeq() int64
	// Ready proves that the database takes events of ordinary size: by a small
	// write that goes through the same commit as events do, and by looking how
	// much room is left.
	Ready(ctx context.Context) error
	// Restores counts the restores and rollbacks that took effect.
	Restores() int64
	// RestoredSince reports, after a page was read, whether the page may be of a
	// later state than before: a restore took effect since Restores was called.
	RestoredSince(ctx context.Context, before int64) (bool, error)
	// Cases are those contracts among the named ones of which one of the keys is
	// the arbitrator that both parties agreed on.
	Cases(ctx context.Context, keys, contracts []string) (out []gate.Case, err error)
	// ContractsUnseen is how many of some contract ids show nothing to who names
	// them.
	ContractsUnseen(ctx context.Context, r gate.Reader, ids []string, known bool) (unseen int, err error)
}

// ErrRestored means that the operator restored a snapshot while an answer was
// read: the rest of it would be of another state.
var ErrRestored = errors.New("the memory was restored meanwhile")

// DamagedText is what a client is told, behind error:, of an event that is
// here and damaged.
const DamagedText = "damaged"

// RefusalOf returns what a client is told about an error: a refusal as it is,
// of a failure the class.
func RefusalOf(err error) *nip01.Refusal {
	var refusal *nip01.Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return failureOf(err)
}

// failureOf returns what a client is told of a failure, never the store's own
// words, which name files and rows.
func failureOf(err error) *nip01.Refusal {
	switch {
	case errors.Is(err, ErrBehind):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "this relay cannot tell now whether it has everything that was acknowledged; ask again"}
	case errors.Is(err, store.ErrUnanswered):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the log of this relay's nodes does not answer: it is not known whether this was stored; send it again"}
	case errors.Is(err, store.ErrUnsynced):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: store.ErrUnsynced.Error() + "; nothing is stored until that is mended"}
	case errors.Is(err, store.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the query took too long, narrow the filter"}
	case errors.Is(err, store.ErrEnded):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the relay is busy and this query took more than others; narrow the filter, or ask again later"}
	case errors.Is(err, ErrRestored):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the memory was restored meanwhile; ask again"}
	case errors.Is(err, store.ErrDamaged):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: DamagedText}
	case errors.Is(err, store.ErrMany):
		return &nip01.Refusal{Prefix: nip01.PrefixBlocked, Text: "too many query results"}
	case errors.Is(err, store.ErrNoSearch):
		return &nip01.Refusal{Prefix: nip01.PrefixInvalid, Text: "this relay was built without search"}
	case errors.Is(err, store.ErrFilter):
		return &nip01.Refusal{Prefix: nip01.PrefixInvalid, Text: "the filter asks for more than the store can look up"}
	case errors.Is(err, store.ErrClosed), errors.Is(err, context.Canceled):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the relay is shutting down"}
	default:
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the relay could not read or write its store"}
	}
}
