package identity

import (
	"context"

	"engramd/internal/relay/store"
)

// Store keeps identities, and finds the events that signing asks about;
// *sqlite.Store implements it.
type Store interface {
	// AddAgent stores an identity, with the hash of its first bearer token when
	// the relay keeps its key (Sealed), and returns it as stored.
	AddAgent(ctx context.Context, a store.Agent, token [32]byte) (stored store.Agent, err error)
	// AgentByID finds an identity by its agent id, nil for none.
	AgentByID(ctx context.Context, id string) (*store.Agent, error)
	// AgentByKey finds the identity of a key in hex, nil for none.
	AgentByKey(ctx context.Context, pubkey string) (*store.Agent, error)
	// AgentByToken finds the identity that a bearer token was issued for, by the
	// token's hash; nil for none.
	AgentByToken(ctx context.Context, hash [32]byte) (*store.Agent, error)
	// AgentPage returns identities in the order of their names, and how many
	// there are in all.
	AgentPage(ctx context.Context, limit, offset int) (page []store.Agent, total int, err error)
	// AgentProvisioned reports whether the operator provisioned the identity of
	// a key (64 hex digits).
	AgentProvisioned(ctx context.Context, pubkey string) (made bool, err error)
	// DropAgent forgets an identity: its name is free again, its tokens are
	// void, and a key that is kept is gone for good.
	DropAgent(ctx context.Context, id string, withKey bool) error
	// ReplaceToken makes the token with this hash the only one of an identity
	// whose key is kept.
	ReplaceToken(ctx context.Context, id string, hash [32]byte) error
	// DropTokens revokes the tokens of an identity whose key is kept.
	DropTokens(ctx context.Context, id string) error
	// ForgetKey wipes the sealed key of an identity and revokes its tokens; name
	// and pubkey stay.
	ForgetKey(ctx context.Context, id string, sealed []byte) error
	// OutboxNewest returns the greatest created_at of the events that an
	// author, in hex, has waiting for a contract; 0 for none.
	OutboxNewest(ctx context.Context, contract, author string) (at int64, err error)
	// Query returns the next page of the events that the filter matches and the
	// scope shows: newest first, ties by lowest id, without any that has
	// expired.
	Query(ctx context.Context, ask store.Ask) (page store.Page, err error)
}
