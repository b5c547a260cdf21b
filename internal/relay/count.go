package relay

import (
	"context"

	"engramd/internal/relay/store"
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
