package identity

import (
	"context"
	"slices"
	"strings"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/vault"
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
	for _, a := range page {
		id, err := public(a, nil)
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
	id, err := r.named(ctx, agentID)
	if err == nil {
		err = refused(r.o.Store.Tell(ctx, store.DropAgent{ID: agentID, WithKey: withKey}))
	}
	return id, err
}

// Void voids the tokens of an identity whose key is kept.
func (r *Registry) Void(ctx context.Context, agentID string) (contracts.Identity, error) {
	id, err := r.named(ctx, agentID)
	if err == nil {
		err = refused(r.o.Store.Tell(ctx, store.DropTokens{ID: agentID}))
	}
	return id, err
}

// named returns the identity with an agent id.
func (r *Registry) named(ctx context.Context, agentID string) (contracts.Identity, error) {
	id, err := r.ByAgent(ctx, agentID)
	if err == nil && id == nil {
		err = refused(store.ErrNoAgent)
	}
	if err != nil {
		return contracts.Identity{}, err
	}
	return *id, nil
}

// Provisioned reports whether the operator provisioned the identity of a key:
// such agents may write even where lists restrict writing.
func (r *Registry) Provisioned(ctx context.Context, pubkey string) (bool, error) {
	return r.o.Store.AgentProvisioned(ctx, pubkey)
}

// Sealed keeps everything that is sealed with the master key; *sqlite.Store
// implements it.
type Sealed interface {
	// MasterKey returns the check value of the master key that was in use last,
	// whether or not anything is sealed with it; nil before there was one.
	MasterKey(ctx context.Context) (check []byte, err error)
	// Reseal seals everything anew, under another master key: again takes each
	// value and returns its replacement.
	Reseal(ctx context.Context, was, now []byte, again func(store.Sealed) ([]byte, error)) (n int, err error)
}

// Register adapts the store to a change of the master key.
type Register struct{ Sealed }

var _ vault.Register = Register{}

// Reseal seals kept keys and private entries anew, each for its row.
func (r Register) Reseal(ctx context.Context, was, now []byte, again func(sealed, row []byte) ([]byte, error)) (n int, err error) {
	return r.Sealed.Reseal(ctx, was, now, func(v store.Sealed) ([]byte, error) {
		if v.Agent != nil {
			return again(v.Value, row(v.Agent.ID, v.Agent.PubKey))
		}
		return again(v.Value, contracts.PlaceOf(v.Contract, v.Entry))
	})
}

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
	AgentPage(ctx context.Context, limit, offset int) (page []*store.Agent, total int, err error)
	// AgentProvisioned reports whether the operator provisioned the identity of
	// a key (64 hex digits).
	AgentProvisioned(ctx context.Context, pubkey string) (made bool, err error)
	// Tell has a command executed: ReplaceToken, DropTokens, ForgetKey, DropAgent.
	Tell(ctx context.Context, c store.Command) error
	// OutboxNewest returns the greatest created_at of the events that an
	// author, in hex, has waiting for a contract; 0 for none.
	OutboxNewest(ctx context.Context, contract, author string) (at int64, err error)
	// Query returns the next page of the events that the filter matches and the
	// scope shows: newest first, ties by lowest id, without any that has
	// expired.
	Query(ctx context.Context, ask store.Ask) (page store.Page, err error)
}

const (
	// maxName is the length in bytes of the longest agent id.
	maxName = 64
	// keyLike is how many hex digits in a row could pass for a key, or for the
	// beginning of one: keys are shown where names are.
	keyLike = 16
)

// roles are words for parts in a contract or at a relay, and for nobody: an
// agent of that name could pass for it.
var roles = []string{
	"poster", "worker", "arbitrator", "arbiter", "decider", "expirer", "deadline", "escrow", "party", "parties", "operator", "admin", "administrator", "moderator",
	"owner", "relay", "server", "system", "root", "support", "staff", "engramd", "engramctl", "nobody", "anybody", "everybody", "anonymous", "unknown", "none",
	"null", "me", "self", "you",
}

// CheckName returns what is wrong with a new agent id, as an Invalid error of
// the field agent_id; nil if it is good. A name must not pass for a key or for
// a role.
func CheckName(id string) error {
	low := strings.ToLower(id)
	switch {
	case id == "" || len(id) > maxName:
		return contracts.Wrong("agent_id", "must have 1 to %d characters", maxName)
	case strings.Trim(low, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "":
		return contracts.Wrong("agent_id", "may have letters, digits, points, _ and - only")
	case store.FoldName(id) == "":
		return contracts.Wrong("agent_id", "must have a letter or a digit")
	case strings.HasPrefix(low, "npub1"), strings.HasPrefix(low, "nsec1"), hexRun(low) >= keyLike:
		return contracts.Wrong("agent_id", "must not look like a key, which %d hex digits in a row do: a key needs no name to act", keyLike)
	case slices.ContainsFunc(roles, func(word string) bool { return store.FoldName(word) == store.FoldName(id) }):
		return contracts.Wrong("agent_id", "is the word for a role, for which its agent could be taken")
	}
	return nil
}

// hexRun returns the length of the longest run of hex digits in a lower-case
// text.
func hexRun(low string) (longest int) {
	run := 0
	for _, r := range low {
		if run++; !strings.ContainsRune("0123456789abcdef", r) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
