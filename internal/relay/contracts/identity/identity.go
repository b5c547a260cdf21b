// Package identity keeps the names of agents, and keys for agents that have
// none of their own. Keys are sealed in the database under the vault's master
// key, used to sign in their agents' names, and forgotten when an agent takes
// its key away.
//
// An agent id belongs to one key, and a key has one agent id; the first to ask
// gets it (docs/contracts.md, "Names"). An agent whose key the
// relay keeps proves itself with a bearer token: 256 random bits, shown once,
// stored as their SHA-256.
package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/store"
)

var (
	_ contracts.Identities = (*Registry)(nil)
	_ contracts.Signer     = (*Registry)(nil)
	_ contracts.Sealer     = Sealer{}
)

// Options configure a Registry. Store and Vault are required.
type Options struct {
	Store Store
	Vault *vault.Vault
	Clock func() time.Time // nil is time.Now
	Rand  io.Reader        // of keys and tokens; nil is crypto/rand
	Ahead time.Duration    // how far the created_at of signed events may be ahead of the clock; 0 is 10 minutes
}

// Registry holds the identities, and signs for those whose keys are kept. Its
// methods may be called by several goroutines.
type Registry struct {
	o     Options
	times times
}

// New returns a Registry.
func New(o Options) *Registry {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Ahead <= 0 {
		o.Ahead = 10 * time.Minute
	}
	return &Registry{o: o, times: times{last: map[string]nostr.Timestamp{}}}
}

// ByAgent finds the identity with an agent id, nil for none.
func (r *Registry) ByAgent(ctx context.Context, agentID string) (*contracts.Identity, error) {
	return public(r.o.Store.AgentByID(ctx, agentID))
}

// ByPubKey finds the name bound to a pubkey in hex, nil for none.
func (r *Registry) ByPubKey(ctx context.Context, pubkey string) (*contracts.Identity, error) {
	return public(r.o.Store.AgentByKey(ctx, pubkey))
}

func public(a *store.Agent, err error) (*contracts.Identity, error) {
	if err != nil || a == nil {
		return nil, err
	}
	npub, err := nip19.EncodePublicKey(a.PubKey)
	if err != nil {
		return nil, fmt.Errorf("npub of an identity: %w", err)
	}
	return &contracts.Identity{AgentID: a.ID, PubKey: a.PubKey, Npub: npub, Provisioned: a.Sealed != nil,
		CreatedAt: time.Unix(a.Created, 0).UTC()}, nil
}

// Bind binds a name to a key; the first to ask gets it. The caller has proved
// the key. Binding the same name again is not an error, even if today's rules
// would refuse the name.
func (r *Registry) Bind(ctx context.Context, agentID, pubkey string) (contracts.Identity, error) {
	switch have, err := r.ByPubKey(ctx, pubkey); {
	case err != nil:
		return contracts.Identity{}, err
	case have != nil && have.AgentID == agentID:
		return *have, nil
	}
	if err := CheckName(agentID); err != nil {
		return contracts.Identity{}, err
	}
	if !nostr.IsValidPublicKey(pubkey) {
		return contracts.Identity{}, contracts.Wrong("pubkey", "must be a key of 64 lower-case hex digits")
	}
	return r.add(ctx, store.Agent{ID: agentID, PubKey: pubkey}, [32]byte{})
}

func (r *Registry) add(ctx context.Context, a store.Agent, token [32]byte) (contracts.Identity, error) {
	stored, err := r.o.Store.AddAgent(ctx, a, token)
	id, err := public(&stored, refused(err))
	if err != nil {
		return contracts.Identity{}, err
	}
	return *id, nil
}

// Provision makes a key for an agent that has none, and a token that is shown
// this once. It is a Conflict if the name is taken.
func (r *Registry) Provision(ctx context.Context, agentID string) (contracts.Provisioned, error) {
	if err := r.ready(); err != nil {
		return contracts.Provisioned{}, err
	}
	if err := CheckName(agentID); err != nil {
		return contracts.Provisioned{}, err
	}
	secret, pubkey, err := r.newKey()
	if err != nil {
		return contracts.Provisioned{}, err
	}
	defer clear(secret)
	defer r.o.Vault.Hold()()
	sealed, err := r.o.Vault.Seal(secret, row(agentID, pubkey))
	if err != nil {
		return contracts.Provisioned{}, fmt.Errorf("seal a key: %w", err)
	}
	token, hash, err := r.newToken()
	if err != nil {
		return contracts.Provisioned{}, err
	}
	id, err := r.add(ctx, store.Agent{ID: agentID, PubKey: pubkey, Sealed: sealed}, hash)
	if err != nil {
		return contracts.Provisioned{}, err
	}
	return contracts.Provisioned{Identity: id, Token: token}, nil
}

// newKey makes a secret key of 32 bytes and its pubkey in hex.
func (r *Registry) newKey() (secret []byte, pubkey string, err error) {
	secret = make([]byte, 32)
	for {
		if _, err := io.ReadFull(r.o.Rand, secret); err != nil {
			return nil, "", fmt.Errorf("make a key: %w", err)
		}
		var scalar btcec.ModNScalar
		if overflow := scalar.SetByteSlice(secret); !overflow && !scalar.IsZero() {
			break
		}
	}
	if pubkey, err = nostr.GetPublicKey(hex.EncodeToString(secret)); err != nil {
		return nil, "", errors.New("make a key: it has no public key")
	}
	return secret, pubkey, nil
}

// row returns the place that a key is sealed for.
func row(agentID, pubkey string) []byte {
	return vault.Row("contract_agents", "sealed", agentID, pubkey)
}

// TokenPrefix begins every bearer token, so that people and scanners recognise
// one.
const TokenPrefix = "engramd_agent_"

// newToken makes a bearer token and the hash that is stored. All of the token
// is random, so that a plain hash is enough.
func (r *Registry) newToken() (token string, hash [32]byte, err error) {
	raw := make([]byte, 32)
	if _, err := io.ReadFull(r.o.Rand, raw); err != nil {
		return "", hash, fmt.Errorf("make a token: %w", err)
	}
	token = TokenPrefix + base64.RawURLEncoding.EncodeToString(raw)
	return token, sha256.Sum256([]byte(token)), nil
}

// Rotate makes a new token for an identity whose key is kept, and voids those
// before.
func (r *Registry) Rotate(ctx context.Context, agentID string) (contracts.Provisioned, error) {
	id, err := r.named(ctx, agentID)
	if err != nil {
		return contracts.Provisioned{}, err
	}
	token, hash, err := r.newToken()
	if err != nil {
		return contracts.Provisioned{}, err
	}
	if err := refused(r.o.Store.Tell(ctx, store.ReplaceToken{ID: agentID, Hash: hash})); err != nil {
		return contracts.Provisioned{}, err
	}
	return contracts.Provisioned{Identity: id, Token: token}, nil
}

// Authenticate returns the owner of a bearer token. The error is
// Unauthenticated for a token that is unknown or void.
func (r *Registry) Authenticate(ctx context.Context, token string) (contracts.Caller, error) {
	var a *store.Agent
	if len(token) == len(TokenPrefix)+base64.RawURLEncoding.EncodedLen(32) && strings.HasPrefix(token, TokenPrefix) {
		var err error
		if a, err = r.o.Store.AgentByToken(ctx, sha256.Sum256([]byte(token))); err != nil {
			return contracts.Caller{}, err
		}
	}
	if a == nil || a.Sealed == nil {
		return contracts.Caller{}, contracts.Refuse(contracts.Unauthenticated, "the bearer token is not one of this relay, or was revoked")
	}
	return contracts.Caller{PubKey: a.PubKey, AgentID: a.ID, Provisioned: true}, nil
}

// Claim gives a key away, once: it is wiped before it is returned, and its
// tokens are revoked.
func (r *Registry) Claim(ctx context.Context, agentID string) (contracts.Claimed, error) {
	if err := r.ready(); err != nil {
		return contracts.Claimed{}, err
	}
	a, err := r.o.Store.AgentByID(ctx, agentID)
	if err != nil {
		return contracts.Claimed{}, err
	}
	if a == nil {
		return contracts.Claimed{}, refused(store.ErrNoAgent)
	}
	if a.Sealed == nil {
		return contracts.Claimed{}, refused(store.ErrNotHeld)
	}
	secret, err := r.secret(a)
	if err != nil {
		return contracts.Claimed{}, err
	}
	nsec, err := nip19.EncodePrivateKey(secret)
	if err != nil {
		return contracts.Claimed{}, errors.New("a kept key is not one")
	}
	if err := refused(r.o.Store.Tell(ctx, store.ForgetKey{ID: agentID, Sealed: a.Sealed})); err != nil {
		return contracts.Claimed{}, err
	}
	a.Sealed = nil
	id, err := public(a, nil)
	if err != nil {
		return contracts.Claimed{}, err
	}
	return contracts.Claimed{Identity: *id, Nsec: nsec}, nil
}

// refusals are what callers are told of the store's errors.
var refusals = map[error]*contracts.Error{
	store.ErrNameTaken:  contracts.Refuse(contracts.Conflict, "this agent id is taken, or looks like one that is"),
	store.ErrKeyNamed:   contracts.Refuse(contracts.Conflict, "this key has another agent id"),
	store.ErrAgentsFull: contracts.Refuse(contracts.Unavailable, "there is no room for more identities"),
	store.ErrNoAgent:    contracts.Refuse(contracts.NotFound, "there is no such identity"),
	store.ErrNotHeld:    contracts.Refuse(contracts.Conflict, "the relay keeps no key for this agent id: its agent has it"),
	store.ErrKeyKept:    contracts.Refuse(contracts.Conflict, "the relay keeps this agent's key, and nobody else has it: with_key=true deletes the key too, for good"),
}

// refused turns an error of the store into its refusal, if it has one.
func refused(err error) error {
	for of, refusal := range refusals {
		if errors.Is(err, of) {
			return refusal
		}
	}
	return err
}

// ready returns an error if there is no master key.
func (r *Registry) ready() error { return Sealer{r.o.Vault}.Ready() }

// Sealer adapts the vault to the service.
type Sealer struct{ *vault.Vault }

// Ready returns nil, or an Unavailable error that says why nothing can be
// sealed.
func (s Sealer) Ready() error {
	if err := s.On(); err != nil {
		return contracts.Refuse(contracts.Unavailable, "private entries and provisioned keys are not available: %v", err)
	}
	return nil
}
