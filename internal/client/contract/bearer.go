package contract

import (
	"context"
	"fmt"

	"engramd/internal/client"
)

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
