package contracts

import "context"

// Provision makes a key for an agent that has none. Only the operator may.
func (s *Service) Provision(ctx context.Context, c Caller, agentID string) (Provisioned, error) {
	switch {
	case c.Nobody():
		return Provisioned{}, errNobody()
	case !c.Operator:
		return Provisioned{}, Refuse(Forbidden, "only the operator provisions identities")
	case !IsAgentName(agentID):
		return Provisioned{}, Wrong("agent_id", "must be 1 to 64 of A–Z a–z 0–9 . _ - and no key")
	}
	if err := s.sealer.Ready(); err != nil {
		return Provisioned{}, err
	}
	if err := c.spend(ctx); err != nil {
		return Provisioned{}, err
	}
	return s.identities.Provision(ctx, agentID)
}

// Bind binds a name to the caller's own key, first come.
func (s *Service) Bind(ctx context.Context, c Caller, agentID, pubkey string) (Identity, error) {
	switch {
	case c.PubKey == "":
		return Identity{}, errNobody()
	case !IsAgentName(agentID):
		return Identity{}, Wrong("agent_id", "must be 1 to 64 of A–Z a–z 0–9 . _ - and no key")
	case !isPubKey(pubkey):
		return Identity{}, Wrong("pubkey", "must be 64 lower-case hex digits")
	case pubkey != c.PubKey:
		return Identity{}, Refuse(Forbidden, "only the holder of a key binds a name to it")
	}
	have, err := s.identities.ByPubKey(ctx, pubkey)
	if err != nil {
		return Identity{}, err
	}
	if !c.Operator && (have == nil || have.AgentID != agentID) {
		if err := s.mayBind(ctx, pubkey); err != nil {
			return Identity{}, err
		}
	}
	if err := c.spend(ctx); err != nil {
		return Identity{}, err
	}
	return s.identities.Bind(ctx, agentID, pubkey)
}

// Identity returns the public part of a named agent, by name or key.
func (s *Service) Identity(ctx context.Context, agentID string) (Identity, error) {
	var found *Identity
	var err error
	if isPubKey(agentID) {
		found, err = s.identities.ByPubKey(ctx, agentID)
	} else if IsAgentName(agentID) {
		found, err = s.identities.ByAgent(ctx, agentID)
	}
	if err != nil {
		return Identity{}, err
	}
	if found == nil {
		return Identity{}, errNotFound("identity")
	}
	return *found, nil
}

// Claim gives the caller the key that the server holds for them, and the server
// forgets it.
func (s *Service) Claim(ctx context.Context, c Caller, agentID string) (Claimed, error) {
	switch {
	case c.PubKey == "":
		return Claimed{}, errNobody()
	case agentID != c.Agent():
		return Claimed{}, Refuse(Forbidden, "only the agent itself claims its key")
	case !c.Provisioned:
		return Claimed{}, Refuse(Conflict, "the server does not hold the key")
	}
	if err := s.sealer.Ready(); err != nil {
		return Claimed{}, err
	}
	if err := c.spend(ctx); err != nil {
		return Claimed{}, err
	}
	return s.identities.Claim(ctx, agentID)
}

// Rotate makes a new bearer token for a key that the server holds, and voids
// those before. It is for the agent itself, which proves itself by the token it
// has, and for the operator, when that token was lost or has leaked.
func (s *Service) Rotate(ctx context.Context, c Caller, agentID string) (Provisioned, error) {
	switch {
	case c.Nobody():
		return Provisioned{}, errNobody()
	case !c.Operator && agentID != c.Agent():
		return Provisioned{}, Refuse(Forbidden, "only the agent itself and the operator renew its token")
	case !IsAgentName(agentID):
		return Provisioned{}, errNotFound("identity")
	}
	if err := c.spend(ctx); err != nil {
		return Provisioned{}, err
	}
	return s.identities.Rotate(ctx, agentID)
}

// Void voids the bearer tokens of a key that the server holds. Whoever may call
// Rotate may call it.
func (s *Service) Void(ctx context.Context, c Caller, agentID string) (Identity, error) {
	switch {
	case c.Nobody():
		return Identity{}, errNobody()
	case !c.Operator && agentID != c.Agent():
		return Identity{}, Refuse(Forbidden, "only the agent itself and the operator void its tokens")
	case !IsAgentName(agentID):
		return Identity{}, errNotFound("identity")
	}
	if err := c.spend(ctx); err != nil {
		return Identity{}, err
	}
	return s.identities.Void(ctx, agentID)
}

// Me returns the caller's own identity, which is what a bearer token stands
// for.
func (s *Service) Me(ctx context.Context, c Caller) (Identity, error) {
	if c.PubKey == "" {
		return Identity{}, errNobody()
	}
	return s.Identity(ctx, c.PubKey)
}

// Identities lists names for the operator.
func (s *Service) Identities(ctx context.Context, c Caller, limit, offset int) (IdentityPage, error) {
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
	found, total, err := s.identities.List(ctx, limit, offset)
	return IdentityPage{Identities: found, Total: total, Limit: limit, Offset: offset}, err
}

// Forget deletes an identity for the operator, with its key if the server holds
// it and withKey is true. The name is free again.
func (s *Service) Forget(ctx context.Context, c Caller, agentID string, withKey bool) (Identity, error) {
	switch {
	case c.Nobody():
		return Identity{}, errNobody()
	case !c.Operator:
		return Identity{}, Refuse(Forbidden, "only the operator deletes identities")
	case !IsAgentName(agentID):
		return Identity{}, errNotFound("identity")
	}
	if err := c.spend(ctx); err != nil {
		return Identity{}, err
	}
	return s.identities.Delete(ctx, agentID, withKey)
}
