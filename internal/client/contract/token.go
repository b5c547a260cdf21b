package contract

import (
	"context"
	"fmt"
	"net/http"

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
