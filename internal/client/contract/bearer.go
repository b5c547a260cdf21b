package contract

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"engramd/internal/client"
)

// RenewToken has the first relay with a contract API make a new bearer token
// for an agent whose key it keeps; those before are void. It is for the relay's
// operator, and for the agent by the token that it has. Errors are ErrAuth for
// others, ErrNotFound for an agent that the relay does not know, ErrConflict
// for one that has its key itself, ErrNoAPI where no relay has the API.
func (cs *Contracts) RenewToken(ctx context.Context, agentID string) (token string, status client.Status, err error) {
	w, _, status, err := cs.identityCall(ctx, agentID, client.Call{Method: http.MethodPost, Path: identityPath(agentID) + "/token", Body: struct{}{}})
	switch {
	case err != nil:
		return "", status, err
	case w.AgentID != agentID || !client.IsToken(w.Token):
		return "", status, fmt.Errorf("%w: it answered with no token of this agent", client.ErrMisbehaved)
	}
	return w.Token, status, nil
}

// VoidToken makes the tokens of such an agent worth nothing; errors are as of
// RenewToken.
func (cs *Contracts) VoidToken(ctx context.Context, agentID string) (id AgentIdentity, status client.Status, err error) {
	_, id, status, err = cs.identityCall(ctx, agentID, client.Call{Method: http.MethodDelete, Path: identityPath(agentID) + "/token"})
	return id, status, err
}

// With a token the relay signs, and the API is the only way.
var errTokenNeedsAPI = fmt.Errorf("%w, and a bearer token is good for that alone", client.ErrNoAPI)

// newByToken has the relay make and sign a contract.
func newByToken(ctx context.Context, cs *Contracts, home *client.Target, o Offer, status *client.Status) (Contract, error) {
	switch {
	case home == nil:
		return Contract{}, errTokenNeedsAPI
	case o.Event != nil:
		return Contract{}, fmt.Errorf("%w: event: with a token the relay signs", client.ErrInvalid)
	case o.Decider != "" && o.Decider != Relay || o.Expirer != "" && o.Expirer != Relay:
		return Contract{}, fmt.Errorf("%w: with a token the relay signs, and names itself as decider and expirer", client.ErrInvalid)
	}
	return cs.postContract(ctx, *home, contractsPath, o.request(), status)
}

// sayByToken has the relay sign a shared entry.
func sayByToken(ctx context.Context, cs *Contracts, t Thread, s Saying, status *client.Status) (Entry, error) {
	switch {
	case !t.API:
		return Entry{}, errTokenNeedsAPI
	case s.Sealed:
		return Entry{}, fmt.Errorf("%w: to encrypt an entry", client.ErrNoKey)
	}
	return cs.postEntry(ctx, t, s, nil, status)
}

// AgentIdentities is a page of the identities of a relay, by their names.
type AgentIdentities struct {
	Page  []AgentIdentity
	Total int // of all pages
}

// Identities lists the identities of the first relay with a contract API, for
// its operator: ErrAuth for others.
func (cs *Contracts) Identities(ctx context.Context, limit, offset int) (out AgentIdentities, status client.Status, err error) {
	var page struct {
		Identities *[]wireIdentity `json:"identities"`
		Total      int             `json:"total"`
	}
	query := url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}}
	status, err = atHome(ctx, cs, client.Call{Path: "/api/identities", Query: query}, &page, func() error {
		if page.Identities == nil {
			return fmt.Errorf("%w: it answered with no list of identities", client.ErrMisbehaved)
		}
		for _, w := range *page.Identities {
			id, err := w.identity(w.AgentID)
			if err != nil {
				return err
			}
			out.Page = append(out.Page, id)
		}
		out.Total = page.Total
		return nil
	})
	if err != nil {
		return AgentIdentities{}, status, err
	}
	return out, status, nil
}

// DeleteIdentity has a relay forget an identity, for its operator; the name is
// free again. A key that the relay keeps is lost with it, which withKey must
// say is meant: ErrConflict otherwise.
func (cs *Contracts) DeleteIdentity(ctx context.Context, agentID string, withKey bool) (id AgentIdentity, status client.Status, err error) {
	call := client.Call{Method: http.MethodDelete, Path: identityPath(agentID)}
	if withKey {
		call.Query = url.Values{"with_key": {"true"}}
	}
	_, id, status, err = cs.identityCall(ctx, agentID, call)
	return id, status, err
}

// Me returns the identity of the key, or the token, that asks: ErrNotFound for
// a key without a name.
func (cs *Contracts) Me(ctx context.Context) (id AgentIdentity, status client.Status, err error) {
	var w wireIdentity
	status, err = atHome(ctx, cs, client.Call{Path: "/api/identity"}, &w, func() (err error) {
		id, err = w.identity(w.AgentID)
		return err
	})
	return id, status, err
}
