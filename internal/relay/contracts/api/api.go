package api

import (
	"context"
	"encoding/json"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/identity"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/http"
	"engramd/internal/relay/httpauth"
	"engramd/nips/nip01"
)

// Options configure an API. All but Private, Decided, Version and URL are
// required.
type Options struct {
	Service    *contracts.Service
	Identities *identity.Registry
	Used       *httpauth.Journal     // which signatures changed something
	Operator   func(key string) bool // reports whether a key is the operator's
	// Private reports whether every read needs a proof (read.auth_required);
	// nil means never.
	Private func() bool
	// Decided is called with the decision about every read: GateDecision of a
	// metrics.Relay.
	Decided func(surface, rule, decision string)
	Version string // of the daemon, for the OpenAPI document
	URL     string // http(s) URL of the relay, for clients
}

// API answers requests below /api/. Make one with New. It is safe for
// concurrent use.
type API struct {
	*httpauth.Journal
	o        Options
	routes   []route
	document json.RawMessage
}

var _ relayhttp.API = (*API)(nil)

// New returns the API.
func New(o Options) *API {
	a := &API{Journal: o.Used, o: o, document: document(o.Version, o.URL)}
	a.routes = routesOf(operations(), a)
	return a
}

// Bearer returns the key of the identity that a token was issued for.
func (a *API) Bearer(ctx context.Context, token string) (string, error) {
	caller, err := a.o.Identities.Authenticate(ctx, token)
	if contracts.CodeOf(err) == contracts.Unauthenticated {
		return "", nil
	}
	return caller.PubKey, err
}

// caller returns the author of a request as the service knows them.
func (a *API) caller(ctx context.Context, key string) (contracts.Caller, error) {
	if key == "" {
		return contracts.Caller{}, nil
	}
	c := contracts.Caller{PubKey: key, Operator: a.o.Operator(key)}
	id, err := a.o.Identities.ByPubKey(ctx, key)
	if err != nil {
		return contracts.Caller{}, err
	}
	if id != nil {
		c.AgentID, c.Provisioned = id.AgentID, id.Provisioned
	}
	return c, nil
}

// request is one request to an operation.
type request struct {
	api    *API
	caller contracts.Caller
	path   []string // the values of the path's parameters, in order
	query  query
	body   []byte
	fresh  func() error
}

// operate returns the bridge's Operation for one of this package.
func (a *API) operate(op operation, path []string) relayhttp.Operation {
	return func(ctx context.Context, asked *relayhttp.Asked) (int, any, error) {
		doc, err := a.answer(ctx, op, path, asked)
		return op.status, doc, problemOf(err)
	}
}

func (a *API) answer(ctx context.Context, op operation, path []string, asked *relayhttp.Asked) (doc any, err error) {
	q, err := parseQuery(asked.RawQuery, op.params)
	if err != nil {
		return nil, err
	}
	caller, err := a.caller(ctx, asked.Key)
	if err != nil {
		return nil, err
	}
	caller.Once = asked.Once
	r := &request{api: a, caller: caller, path: path, query: q, body: asked.Body, fresh: asked.Fresh}
	if err := r.checkRequester(q["requester_agent_id"]); err != nil {
		return nil, err
	}
	if err = a.admits(op, caller); err == nil {
		doc, err = op.serve(contracts.WithPoster(ctx, q["poster"]), r)
	}
	a.count(op, err)
	return doc, err
}

// admits refuses callers who proved nothing where the whole relay is private.
// It lets them read the document, which says how to ask and nothing about what
// is stored.
func (a *API) admits(op operation, caller contracts.Caller) error {
	if op.proof == proofOptional && caller.Nobody() && a.o.Private != nil && a.o.Private() {
		return contracts.Refuse(contracts.Unauthenticated, "this relay is read only by who has proved a key: sign the request (Authorization: Nostr …, NIP-98) or send a bearer token")
	}
	return nil
}

// count reports the decision about a read. What the caller may not see counts
// as absent, as the caller was told.
func (a *API) count(op operation, err error) {
	if op.surface == 0 || a.o.Decided == nil {
		return
	}
	decision := "granted"
	switch contracts.CodeOf(err) {
	case contracts.Unauthenticated:
		decision = nip01.PrefixAuthRequired
	case contracts.Forbidden, contracts.NotFound:
		decision = nip01.PrefixRestricted
	default:
		if err != nil {
			return
		}
	}
	a.o.Decided(op.surface.String(), gate.Contract.String(), decision)
}

// checkRequester refuses a requester_agent_id that is not the caller's: an
// identity is proved, never claimed.
func (r *request) checkRequester(id string) error {
	switch {
	case id == "" || id == r.caller.Agent() || id == r.caller.PubKey:
		return nil
	case r.caller.Nobody():
		return contracts.Refuse(contracts.Unauthenticated, "requester_agent_id needs proof: sign the request (NIP-98) or send a bearer token")
	}
	return contracts.Refuse(contracts.Forbidden, "requester_agent_id is not the caller's agent id")
}

// openAPI answers with the document.
func openAPI(_ context.Context, r *request) (any, error) { return r.api.document, nil }
