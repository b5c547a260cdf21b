package relayhttp

import (
	"context"
	"net/http"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
)

// Backend is what signed requests need of the relay. Over makes one of a
// *relay.Relay; tests bring their own. The context says who is asking.
type Backend interface {
	// RejectsConnection runs khatru's hooks.
	RejectsConnection(r *http.Request) bool
	// Submit takes a verified event and returns once it is durable or refused.
	Submit(ctx context.Context, s relay.Submission) relay.Answer
	// Authorize grants a scope to every filter of a request, or refuses it.
	Authorize(ctx context.Context, surface gate.Surface, filters []nostr.Filter) ([]relay.Granted, error)
	// Stored opens the events that an authorized request finds at this moment.
	Stored(granted []relay.Granted) Rows
	// Count counts distinct events.
	Count(ctx context.Context, granted []relay.Granted) (int64, error)
	// History opens superseded versions for a party, or refuses.
	History(ctx context.Context, q relay.HistoryQuery) (Rows, error)
	// Past opens everybody's superseded versions for a replica, or refuses. The
	// position is the relay's last number at this moment.
	Past(ctx context.Context, q relay.PastQuery) (rows Rows, position int64, err error)
}

// Rows returns events page by page and holds nothing open between pages.
type Rows interface {
	Next(ctx context.Context, maxRows, maxBytes int) (rows []store.Row, done bool, err error)
	// More reports, after the last page, whether a limit kept matching events
	// back.
	More() bool
	// Damaged lists, after the last page, matching events that were left out
	// because they are damaged, as far as the reader may know of them.
	Damaged() []store.Damaged
}

// Over returns the Backend of a relay.
func Over(r *relay.Relay) Backend { return overRelay{r} }

type overRelay struct{ *relay.Relay }

// Stored opens the events that are there now, or arrive while they are read.
func (r overRelay) Stored(granted []relay.Granted) Rows {
	return r.Relay.Stored(granted, r.Now())
}

// Past returns the relay's pages as Rows.
func (r overRelay) Past(ctx context.Context, q relay.PastQuery) (Rows, int64, error) {
	past, err := r.Relay.Past(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	return past, past.Position(), nil
}

// History returns the relay's pages as Rows.
func (r overRelay) History(ctx context.Context, q relay.HistoryQuery) (Rows, error) {
	versions, err := r.Relay.History(ctx, q)
	if err != nil {
		return nil, err // not a nil pointer in an interface
	}
	return versions, nil
}
