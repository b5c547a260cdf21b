package relay

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/nips/nip77"
)

// IDs returns the times and ids of the events that a filter matches and the
// reader may know of: those that Count counts, of one state. Of more than most
// there are none, and the error is store.ErrMany; room is told how many come
// before memory is taken for them, and may refuse. It ignores limit.
func (r *Relay) IDs(ctx context.Context, granted Granted, most int, room func(n int) error) ([]nip77.Item, error) {
	return r.store.IDs(ctx, store.Ask{Scope: granted.Scope, Filter: granted.Filter}, most, room)
}
