package identity

import (
	"context"
	"errors"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/store"
)

// List returns identities in the order of their names, and how many there are
// in all.
func (r *Registry) List(ctx context.Context, limit, offset int) ([]contracts.Identity, int, error) {
	page, total, err := r.o.Store.AgentPage(ctx, limit, offset)
	if err != nil {
		return nil, 0, err
	}
	out := make([]contracts.Identity, 0, len(page))
	for i := range page {
		id, err := public(&page[i], nil)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, *id)
	}
	return out, total, nil
}

// Delete forgets an identity, with a kept key only if withKey says that its
// loss is meant.
func (r *Registry) Delete(ctx context.Context, agentID string, withKey bool) (contracts.Identity, error) {
	id, err := r.ByAgent(ctx, agentID)
	if err != nil {
		return contracts.Identity{}, err
	}
	if id == nil {
		return contracts.Identity{}, errUnknown()
	}
	switch err := r.o.Store.DropAgent(ctx, agentID, withKey); {
	case errors.Is(err, store.ErrNoAgent):
		return contracts.Identity{}, errUnknown()
	case errors.Is(err, store.ErrKeyKept):
		return contracts.Identity{}, contracts.Refuse(contracts.Conflict, "the relay keeps this agent's key, and nobody else has it: with_key=true deletes the key too, for good")
	case err != nil:
		return contracts.Identity{}, err
	}
	return *id, nil
}

// Void voids the tokens of an identity whose key is kept.
func (r *Registry) Void(ctx context.Context, agentID string) (contracts.Identity, error) {
	id, err := r.ByAgent(ctx, agentID)
	if err != nil {
		return contracts.Identity{}, err
	}
	if id == nil {
		return contracts.Identity{}, errUnknown()
	}
	return *id, held(r.o.Store.DropTokens(ctx, agentID))
}

// Provisioned reports whether the operator provisioned the identity of a key:
// such agents may write even where lists restrict writing.
func (r *Registry) Provisioned(ctx context.Context, pubkey string) (bool, error) {
	return r.o.Store.AgentProvisioned(ctx, pubkey)
}
