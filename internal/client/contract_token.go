package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// RenewToken has the first relay with a contract API make a new bearer token for
// an agent whose key it keeps; those before are void. It is for the relay's
// operator. Errors are ErrAuth for others, ErrNotFound for an agent that the relay
// does not know, ErrConflict for one that has its key itself, ErrNoAPI where no
// relay has the API.
func (cs *Contracts) RenewToken(ctx context.Context, agentID string) (token string, status Status, err error) {
	ctx, cancel := cs.c.operation(ctx)
	defer cancel()
	if agentID == "" || strings.Trim(agentID, ".") == "" {
		return "", status, fmt.Errorf("%w: %q is no agent id", ErrInvalid, agentID) // "." and ".." would be another path
	}
	home, status, err := cs.home(ctx)
	if err != nil {
		return "", status, err
	}
	if home == nil {
		return "", status, ErrNoAPI
	}
	var made struct {
		AgentID string `json:"agent_id"`
		Token   string `json:"token"`
	}
	err = cs.c.api(ctx, *home, http.MethodPost, identityPath(agentID)+"/token", nil, struct{}{}, &made)
	status.Published = append(status.Published, PublishStatus{URL: home.url, Accepted: err == nil, Err: err, Message: "contract API"})
	switch {
	case err != nil:
		return "", status, fmt.Errorf("%s: %w", printable(home.url), err)
	case made.AgentID != agentID || made.Token == "" || printable(made.Token) != made.Token || strings.ContainsAny(made.Token, " \t"):
		return "", status, fmt.Errorf("%s: %w: it answered with no token of this agent", printable(home.url), ErrMisbehaved)
	}
	return made.Token, status, nil
}
