package relay

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/nips/nip77"
)

// Count returns the exact number of distinct events that the filters match and
// the reader may know of (NIP-45). It ignores limit.
func (r *Relay) Count(ctx context.Context, granted []Granted) (int64, error) {
	asks := make([]store.Ask, len(granted))
	for i, g := range granted {
		asks[i] = store.Ask{Scope: g.Scope, Filter: g.Filter}
	}
	return r.store.Count(ctx, asks)
}

// IDs returns the times and ids of the events that a filter matches and the
// reader may know of: those that Count counts, of one state. Of more than most
// there are none, and the error is store.ErrMany; room is told how many come
// before memory is taken for them, and may refuse. It ignores limit.
func (r *Relay) IDs(ctx context.Context, granted Granted, most int, room func(n int) error) ([]nip77.Item, error) {
	return r.store.IDs(ctx, store.Ask{Scope: granted.Scope, Filter: granted.Filter}, most, room)
}
