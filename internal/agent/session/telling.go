package session

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/memory/localcopy"
)

// tellingStore is a local copy that tells when something in it changed.
type tellingStore struct {
	*localcopy.Copy
	tell func()
}

// Put tells of new heads.
func (s tellingStore) Put(ctx context.Context, relay string, events []*nostr.Event) (localcopy.Changes, error) {
	return s.told(s.Copy.Put(ctx, relay, events))
}

// Lost tells of heads that went.
func (s tellingStore) Lost(ctx context.Context, relay string, ids [][32]byte) (localcopy.Changes, error) {
	return s.told(s.Copy.Lost(ctx, relay, ids))
}

func (s tellingStore) told(c localcopy.Changes, err error) (localcopy.Changes, error) {
	if c.Heads > 0 {
		s.tell()
	}
	return c, err
}
