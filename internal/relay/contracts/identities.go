package contracts

import (
	"context"
	"time"

	"engramd/internal/relay/fairness"

	"github.com/nbd-wtf/go-nostr"
)

// directory decides who may do what with the names of agents, and looks them up.
type directory struct {
	identities Identities
	sealer     Sealer
	writers    Writers
	binds      *fairness.Rates // budgets for binding names, by key and by share
	clock      func() time.Time
}

// Provision makes a key for an agent that has none. Only the operator may.
func (a *directory) Provision(ctx context.Context, c Caller, agentID string) (Provisioned, error) {
	switch {
	case c.Nobody():
		return Provisioned{}, errNobody()
	case !c.Operator:
		return Provisioned{}, Refuse(Forbidden, "only the operator provisions identities")
	case !IsAgentName(agentID):
		return Provisioned{}, Wrong("agent_id", "must be 1 to 64 of A–Z a–z 0–9 . _ - and no key")
	}
	if err := a.sealer.Ready(); err != nil {
		return Provisioned{}, err
	}
	if err := c.spend(ctx); err != nil {
		return Provisioned{}, err
	}
	return a.identities.Provision(ctx, agentID)
}

// Bind binds a name to the caller's own key, first come.
func (a *directory) Bind(ctx context.Context, c Caller, agentID, pubkey string) (Identity, error) {
	switch {
	case c.PubKey == "":
		return Identity{}, errNobody()
	case !IsAgentName(agentID):
		return Identity{}, Wrong("agent_id", "must be 1 to 64 of A–Z a–z 0–9 . _ - and no key")
	case !nostr.IsValid32ByteHex(pubkey):
		return Identity{}, Wrong("pubkey", "must be 64 lower-case hex digits")
	case pubkey != c.PubKey:
		return Identity{}, Refuse(Forbidden, "only the holder of a key binds a name to it")
	}
	have, err := a.identities.ByPubKey(ctx, pubkey)
	if err != nil {
		return Identity{}, err
	}
	if !c.Operator && (have == nil || have.AgentID != agentID) {
		if err := a.mayBind(ctx, pubkey); err != nil {
			return Identity{}, err
		}
	}
	if err := c.spend(ctx); err != nil {
		return Identity{}, err
	}
	return a.identities.Bind(ctx, agentID, pubkey)
}

// Identity returns the public part of a named agent, by name or key.
func (a *directory) Identity(ctx context.Context, agentID string) (Identity, error) {
	found, err := a.named(ctx, agentID)
	if err == nil && found == nil {
		err = errNotFound("identity")
	}
	if err != nil {
		return Identity{}, err
	}
	return *found, nil
}

// named returns the identity of a name or a key, nil for none.
func (a *directory) named(ctx context.Context, agentID string) (*Identity, error) {
	switch {
	case nostr.IsValid32ByteHex(agentID):
		return a.identities.ByPubKey(ctx, agentID)
	case IsAgentName(agentID):
		return a.identities.ByAgent(ctx, agentID)
	}
	return nil, nil
}

// Claim gives the caller the key that the server holds for them, and the server
// forgets it.
func (a *directory) Claim(ctx context.Context, c Caller, agentID string) (Claimed, error) {
	switch {
	case c.PubKey == "":
		return Claimed{}, errNobody()
	case agentID != c.Agent():
		return Claimed{}, Refuse(Forbidden, "only the agent itself claims its key")
	case !c.Provisioned:
		return Claimed{}, Refuse(Conflict, "the server does not hold the key")
	}
	if err := a.sealer.Ready(); err != nil {
		return Claimed{}, err
	}
	if err := c.spend(ctx); err != nil {
		return Claimed{}, err
	}
	return a.identities.Claim(ctx, agentID)
}

// manages refuses callers who may not change an identity, and uses up the proof
// of those who may: the operator, and where it says so the agent itself.
func (a *directory) manages(ctx context.Context, c Caller, agentID string, itself bool, refusal string) error {
	switch {
	case c.Nobody():
		return errNobody()
	case !c.Operator && !(itself && agentID == c.Agent()):
		return Refuse(Forbidden, "%s", refusal)
	case !IsAgentName(agentID):
		return errNotFound("identity")
	}
	return c.spend(ctx)
}

// Rotate makes a new bearer token for a key that the server holds, and voids
// those before. It is for the agent itself, which proves itself by the token it
// has, and for the operator, when that token was lost or has leaked.
func (a *directory) Rotate(ctx context.Context, c Caller, agentID string) (Provisioned, error) {
	if err := a.manages(ctx, c, agentID, true, "only the agent itself and the operator renew its token"); err != nil {
		return Provisioned{}, err
	}
	return a.identities.Rotate(ctx, agentID)
}

// Void voids the bearer tokens of a key that the server holds. Whoever may call
// Rotate may call it.
func (a *directory) Void(ctx context.Context, c Caller, agentID string) (Identity, error) {
	if err := a.manages(ctx, c, agentID, true, "only the agent itself and the operator void its tokens"); err != nil {
		return Identity{}, err
	}
	return a.identities.Void(ctx, agentID)
}

// Me returns the caller's own identity, which is what a bearer token stands
// for.
func (a *directory) Me(ctx context.Context, c Caller) (Identity, error) {
	if c.PubKey == "" {
		return Identity{}, errNobody()
	}
	return a.Identity(ctx, c.PubKey)
}

// Identities lists names for the operator.
func (a *directory) Identities(ctx context.Context, c Caller, limit, offset int) (IdentityPage, error) {
	switch {
	case c.Nobody():
		return IdentityPage{}, errNobody()
	case !c.Operator:
		return IdentityPage{}, Refuse(Forbidden, "only the operator lists identities")
	}
	limit, offset, err := page(limit, offset)
	if err != nil {
		return IdentityPage{}, err
	}
	found, total, err := a.identities.List(ctx, limit, offset)
	return IdentityPage{Identities: found, Total: total, Limit: limit, Offset: offset}, err
}

// Forget deletes an identity for the operator, with its key if the server holds
// it and withKey is true. The name is free again.
func (a *directory) Forget(ctx context.Context, c Caller, agentID string, withKey bool) (Identity, error) {
	if err := a.manages(ctx, c, agentID, false, "only the operator deletes identities"); err != nil {
		return Identity{}, err
	}
	return a.identities.Delete(ctx, agentID, withKey)
}

// names finds the agent ids of keys, each once.
type names struct {
	by   Identities
	ids  map[string]string
	fail error
}

func (a *directory) names() *names { return &names{by: a.identities, ids: map[string]string{}} }

// of returns the agent id of a key: the name bound to it, else the key.
func (n *names) of(ctx context.Context, pubkey string) string {
	if id, ok := n.ids[pubkey]; ok {
		return id
	}
	id := pubkey
	identity, err := n.by.ByPubKey(ctx, pubkey)
	if err != nil && n.fail == nil {
		n.fail = err
	}
	if identity != nil {
		id = identity.AgentID
	}
	n.ids[pubkey] = id
	return id
}

// pubkeyOf returns the pubkey of an agent id, or of a pubkey in hex; "" for an
// id that nobody has.
func (a *directory) pubkeyOf(ctx context.Context, agentID string) (string, error) {
	if nostr.IsValid32ByteHex(agentID) {
		return agentID, nil
	}
	identity, err := a.named(ctx, agentID)
	if err != nil || identity == nil {
		return "", err
	}
	return identity.PubKey, nil
}
