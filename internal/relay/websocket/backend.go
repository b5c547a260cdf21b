package websocket

import (
	"context"
	"net/http"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip77"
)

// Backend is what a session needs of the relay. *relay.Relay is it, by way of
// New; tests bring their own.
type Backend interface {
	// Begin queues a verified event; who is asking is in ctx.
	Begin(ctx context.Context, ev *nostr.Event) Pending
	// Authorize grants a scope to every filter of a request, or refuses it.
	Authorize(ctx context.Context, surface gate.Surface, filters []nostr.Filter) ([]relay.Granted, error)
	// Table is the read rules in force.
	Table() *gate.Table
	// Stored opens the stored part of a request at an instant.
	Stored(ctx context.Context, granted []relay.Granted, at relay.Instant) Stream
	// Count counts distinct events.
	Count(ctx context.Context, granted []relay.Granted) (int64, error)
	// IDs returns the times and ids of those that Count counts; see relay.IDs.
	IDs(ctx context.Context, granted relay.Granted, most int, room func(n int) error) ([]nip77.Item, error)
	// Now is the state that every query can see.
	Now() relay.Instant
	// OnDelivery sets who takes live events, and who is told that some are lost.
	OnDelivery(sink func([]relay.Delivery), lost func())
	// CanRead is the gate's second check for one delivery.
	CanRead(scope gate.Scope, d *relay.Delivery) bool
	// Authenticate checks an AUTH event and returns the pubkey it proves.
	Authenticate(ev *nostr.Event, challenge string) (string, error)
	// RejectsConnection, Connected and Disconnected run khatru's hooks.
	RejectsConnection(r *http.Request) bool
	Connected(ctx context.Context)
	Disconnected(ctx context.Context)
}

// Pending is an event on its way into the store.
type Pending interface {
	Done() <-chan struct{}
	Wait() relay.Answer
}

// Stream returns the stored events of one request page by page and holds
// nothing open between pages.
type Stream interface {
	Next(ctx context.Context, maxRows, maxBytes int) (rows []store.Row, done bool, err error)
	// More reports after the last page that a limit kept matching events back,
	// Complete that none was; if both are false, nobody knows (NIP-67).
	More() bool
	// Damaged lists, after the last page, events that were left out because they
	// are damaged.
	Damaged() []store.Damaged
	Complete() bool
}

// overRelay makes a *relay.Relay a Backend.
type overRelay struct{ *relay.Relay }

var _ Backend = overRelay{}

func (r overRelay) Begin(ctx context.Context, ev *nostr.Event) Pending {
	return r.Relay.Begin(ctx, relay.Submission{Event: ev})
}

func (r overRelay) Stored(_ context.Context, granted []relay.Granted, at relay.Instant) Stream {
	return r.Relay.Stored(granted, at)
}
