package api

import (
	"context"
	"errors"
	"net/http"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/http"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

// proved refuses a caller who proved nothing, before anything is looked up.
func (r *request) proved() error {
	if r.caller.Nobody() {
		return contracts.Refuse(contracts.Unauthenticated, "prove who you are: sign the request (Authorization: Nostr …, NIP-98) or send a bearer token")
	}
	return nil
}

// change reads the body of a changing call into v, and refuses a proof that was
// used before. The service uses the proof up once it knows that the caller may
// make the change: requests that are refused to strangers are not even
// remembered.
func (r *request) change(v any) error {
	if err := r.proved(); err != nil {
		return err
	}
	if err := parseBody(r.body, v); err != nil {
		return err
	}
	return r.fresh()
}

// handler answers an operation.
type handler = func(context.Context, *request) (any, error)

// service is what the operations call.
type service = *contracts.Service

// reading answers with what the path names.
func reading[T any](fn func(service, context.Context, contracts.Caller, string) (T, error)) handler {
	return func(ctx context.Context, r *request) (any, error) {
		return fn(r.api.o.Service, ctx, r.caller, r.path[0])
	}
}

// changing has what the path names changed as the body says.
func changing[B, T any](fn func(service, context.Context, contracts.Caller, string, B) (T, error)) handler {
	return func(ctx context.Context, r *request) (any, error) {
		var body B
		if err := r.change(&body); err != nil {
			return nil, err
		}
		return fn(r.api.o.Service, ctx, r.caller, r.path[0], body)
	}
}

// Bodies without members.
type (
	disclosureRequest struct{}
	claimRequest      struct{}
	tokenRequest      struct{}
)

// acting has done what the path says. The body may be left out.
func acting(fn handler) handler {
	return func(ctx context.Context, r *request) (any, error) {
		if len(r.body) == 0 {
			r.body = []byte("{}")
		}
		if err := r.change(&struct{}{}); err != nil {
			return nil, err
		}
		return fn(ctx, r)
	}
}

func create(ctx context.Context, r *request) (any, error) {
	var body contracts.CreateRequest
	if err := r.change(&body); err != nil {
		return nil, err
	}
	return r.api.o.Service.Create(ctx, r.caller, body)
}

func list(ctx context.Context, r *request) (any, error) {
	if err := r.proved(); err != nil {
		return nil, err
	}
	return r.api.o.Service.List(ctx, r.caller, contracts.ContractQuery{
		Status: niptemp.Status(r.query["status"]), Limit: r.query.number("limit"), Offset: r.query.number("offset"),
	})
}

func transitions(ctx context.Context, r *request) (any, error) {
	return r.api.o.Service.Transitions(ctx, r.caller, r.path[0], contracts.TransitionQuery{
		RequesterAgentID: r.query["requester_agent_id"], Limit: r.query.number("limit"), Offset: r.query.number("offset"),
	})
}

func entries(ctx context.Context, r *request) (any, error) {
	return r.api.o.Service.Entries(ctx, r.caller, r.path[0], contracts.EntryQuery{
		RequesterAgentID: r.query["requester_agent_id"], Type: r.query["type"],
		Visibility: contracts.Visibility(r.query["visibility"]), Author: r.query["author"],
		Limit: r.query.number("limit"), Offset: r.query.number("offset"), Events: r.query["events"] == "true",
	})
}

func entry(ctx context.Context, r *request) (any, error) {
	return r.api.o.Service.Entry(ctx, r.caller, r.path[0], r.path[1])
}

func disclosure(ctx context.Context, r *request) (any, error) {
	return r.api.o.Service.Disclose(ctx, r.caller, r.path[0], r.path[1])
}

func order(ctx context.Context, r *request) (any, error) {
	if err := r.proved(); err != nil {
		return nil, err
	}
	return r.api.o.Service.Order(ctx, r.caller, r.path[0])
}

// search changes nothing, so that its proof may be used again, as for any read.
func search(ctx context.Context, r *request) (any, error) {
	if err := r.proved(); err != nil {
		return nil, err
	}
	var body contracts.SearchRequest
	if err := parseBody(r.body, &body); err != nil {
		return nil, err
	}
	if err := r.checkRequester(body.RequesterAgentID); err != nil {
		return nil, err
	}
	switch {
	case body.Limit < 0 || body.Limit > maxLimit:
		return nil, contracts.Wrong("limit", "must be a number from 0 to %d", maxLimit)
	case body.Offset < 0 || body.Offset > maxOffset:
		return nil, contracts.Wrong("offset", "must be a number from 0 to %d", maxOffset)
	}
	return r.api.o.Service.Search(ctx, r.caller, r.path[0], body)
}

// identityRequest binds agent_id to pubkey, which is the caller's own; without
// pubkey the operator provisions a key.
type identityRequest struct {
	AgentID string  `json:"agent_id"`
	PubKey  *string `json:"pubkey,omitempty"`
}

// identityAnswer is the identity, with its token if it was provisioned.
type identityAnswer struct {
	contracts.Identity
	Token string `json:"token,omitempty"`
}

func createIdentity(ctx context.Context, r *request) (any, error) {
	var body identityRequest
	if err := r.change(&body); err != nil {
		return nil, err
	}
	if body.PubKey == nil {
		made, err := r.api.o.Service.Provision(ctx, r.caller, body.AgentID)
		return identityAnswer{made.Identity, made.Token}, err
	}
	bound, err := r.api.o.Service.Bind(ctx, r.caller, body.AgentID, *body.PubKey)
	return identityAnswer{Identity: bound}, err
}

func publicIdentity(ctx context.Context, r *request) (any, error) {
	return r.api.o.Service.Identity(ctx, r.path[0])
}

func ownIdentity(ctx context.Context, r *request) (any, error) {
	return r.api.o.Service.Me(ctx, r.caller)
}

func identities(ctx context.Context, r *request) (any, error) {
	return r.api.o.Service.Identities(ctx, r.caller, r.query.number("limit"), r.query.number("offset"))
}

func deleteIdentity(ctx context.Context, r *request) (any, error) {
	return r.api.o.Service.Forget(ctx, r.caller, r.path[0], r.query["with_key"] == "true")
}

// classes holds the status and the prefix of every class of refusal. A conflict
// has no prefix: clients know its text as it is.
var classes = map[contracts.Code]struct {
	status int
	prefix string
}{
	contracts.Invalid:         {http.StatusBadRequest, nip01.PrefixInvalid},
	contracts.Unauthenticated: {http.StatusUnauthorized, nip01.PrefixAuthRequired},
	contracts.Forbidden:       {http.StatusForbidden, nip01.PrefixRestricted},
	contracts.NotFound:        {http.StatusNotFound, nip01.PrefixInvalid},
	contracts.Conflict:        {http.StatusConflict, ""},
	contracts.TooLarge:        {http.StatusRequestEntityTooLarge, nip01.PrefixInvalid},
	contracts.RateLimited:     {http.StatusTooManyRequests, nip01.PrefixRateLimited},
	contracts.Unavailable:     {http.StatusServiceUnavailable, nip01.PrefixError},
}

// problemOf returns the answer to an error of the service. An error that is not
// a refusal stays as it is, and the bridge hides it.
func problemOf(err error) error {
	var e *contracts.Error
	if !errors.As(err, &e) {
		return err
	}
	class, ok := classes[e.Code]
	if !ok {
		return err
	}
	return &relayhttp.Problem{Status: class.status, Why: nip01.Refusal{Prefix: class.prefix, Text: e.Message}, Fields: e.Fields}
}
