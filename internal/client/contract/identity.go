package contract

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client"
)

// AgentIdentity is what a relay's contract API knows of an agent's name:
// public.
type AgentIdentity struct {
	AgentID     string
	PubKey      string // 64 lower-case hex digits
	Provisioned bool   // the relay keeps its key
	CreatedAt   int64  // Unix seconds
}

// wireIdentity is an identity as the API has it, with what some calls add.
type wireIdentity struct {
	AgentID     string `json:"agent_id"`
	PubKey      string `json:"pubkey"`
	Provisioned bool   `json:"provisioned"`
	CreatedAt   moment `json:"created_at"`
	Token       string `json:"token"`
	Nsec        string `json:"nsec"`
}

// identity returns what it says, if it is that of the agent: by name, or by
// key.
func (w wireIdentity) identity(agentID string) (AgentIdentity, error) {
	if !nostr.IsValid32ByteHex(w.PubKey) || w.AgentID != agentID && w.PubKey != agentID || client.Printable(w.AgentID) != w.AgentID {
		return AgentIdentity{}, fmt.Errorf("%w: it answered with no identity of this agent", client.ErrMisbehaved)
	}
	return AgentIdentity{w.AgentID, w.PubKey, w.Provisioned, int64(w.CreatedAt)}, nil
}

// Provision has the first relay with a contract API make a key for an agent
// that has none, and keep it. The token is what the agent acts with. It is for
// the relay's operator; errors are as of RenewToken, ErrConflict for a name
// that is taken.
func (cs *Contracts) Provision(ctx context.Context, agentID string) (id AgentIdentity, token string, status client.Status, err error) {
	w, id, status, err := cs.identityCall(ctx, agentID, client.Call{Method: http.MethodPost, Path: "/api/identities",
		Body: map[string]string{"agent_id": agentID}})
	if err == nil && (!client.IsToken(w.Token) || !id.Provisioned) {
		err = fmt.Errorf("%w: it answered without a token", client.ErrMisbehaved)
	}
	if err != nil {
		return AgentIdentity{}, "", status, err
	}
	return id, w.Token, status, nil
}

// Bind binds a name to the caller's own key, first come: ErrConflict where it
// is another's, or the key has another one.
func (cs *Contracts) Bind(ctx context.Context, agentID string) (id AgentIdentity, status client.Status, err error) {
	_, id, status, err = cs.identityCall(ctx, agentID, client.Call{Method: http.MethodPost, Path: "/api/identities",
		Body: map[string]string{"agent_id": agentID, "pubkey": cs.PubKey()}})
	if err == nil && id.PubKey != cs.PubKey() {
		return AgentIdentity{}, status, fmt.Errorf("%w: it bound another key", client.ErrMisbehaved)
	}
	return id, status, err
}

// Identity returns the public part of an agent, by its name or its key in hex.
func (cs *Contracts) Identity(ctx context.Context, agentID string) (id AgentIdentity, status client.Status, err error) {
	_, id, status, err = cs.identityCall(ctx, agentID, client.Call{Path: identityPath(agentID)})
	return id, status, err
}

// ClaimKey takes away the secret key that the relay keeps for an agent, once,
// by the agent's bearer token: the relay forgets both. The key comes as 64 hex
// digits. The client must have exactly one relay, reached over TLS or on this
// machine (ErrCleartext): a token is for the relay that made it. Errors are
// ErrAuth for a token that is not this agent's, or not any more.
func (cs *Contracts) ClaimKey(ctx context.Context, agentID, token string) (secret string, id AgentIdentity, status client.Status, err error) {
	targets := cs.c.Targets()
	switch {
	case len(targets) != 1:
		return "", id, status, fmt.Errorf("%w: a token is of one relay, and %d are named", client.ErrInvalid, len(targets))
	case !client.IsToken(token):
		return "", id, status, fmt.Errorf("%w: this is no bearer token", client.ErrInvalid)
	case !client.IsPrivate(targets[0].URL):
		return "", id, status, fmt.Errorf("%s: %w", client.Printable(targets[0].URL), client.ErrCleartext)
	}
	w, id, status, err := cs.identityCall(ctx, agentID, client.Call{Method: http.MethodPost, Path: identityPath(agentID) + "/claim", Body: struct{}{}, Bearer: token})
	if err != nil {
		return "", AgentIdentity{}, status, err
	}
	prefix, value, decodeErr := nip19.Decode(w.Nsec)
	secret, ok := value.(string)
	if pubkey, err := nostr.GetPublicKey(secret); decodeErr != nil || !ok || prefix != "nsec" || err != nil || pubkey != id.PubKey {
		return "", AgentIdentity{}, status, fmt.Errorf("%w: it gave a key that is not this agent's", client.ErrMisbehaved)
	}
	return secret, id, status, nil
}

// identityCall makes a call about an agent's name to the first relay with a
// contract API.
func (cs *Contracts) identityCall(ctx context.Context, agentID string, call client.Call) (w wireIdentity, id AgentIdentity, status client.Status, err error) {
	if agentID == "" || strings.Trim(agentID, ".") == "" {
		return w, id, status, fmt.Errorf("%w: %q is no agent id", client.ErrInvalid, agentID) // "." and ".." would be another path
	}
	status, err = atHome(ctx, cs, call, &w, func() (err error) {
		id, err = w.identity(agentID)
		return err
	})
	return w, id, status, err
}

// atHome makes a call to the first relay with a contract API, and reads what it
// answered.
func atHome(ctx context.Context, cs *Contracts, call client.Call, out any, read func() error) (status client.Status, err error) {
	ctx, cancel := cs.c.Operation(ctx)
	defer cancel()
	home, status, err := cs.home(ctx)
	switch {
	case err != nil:
		return status, err
	case home == nil:
		return status, client.ErrNoAPI
	case call.Method != "":
		if err := post(ctx, cs, *home, call, out, &status); err != nil {
			return status, err
		}
	default:
		err = cs.c.HTTP().API(ctx, *home, call, out)
	}
	if err == nil {
		err = read()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", client.Printable(home.URL), err)
	}
	return status, err
}

// known finds out which key the client's token stands for.
func known(ctx context.Context, cs *Contracts) (client.Status, error) {
	return cs.c.HTTP().Known(ctx, func(ctx context.Context, relay client.Target) (string, error) {
		var w wireIdentity
		err := cs.c.HTTP().API(ctx, relay, client.Call{Path: "/api/identity"}, &w)
		switch {
		case errors.Is(err, client.ErrNotFound): // whoever has a token has an identity
			return "", client.ErrNoAPI
		case err != nil:
			return "", err
		}
		id, err := w.identity(w.AgentID)
		return id.PubKey, err
	})
}
