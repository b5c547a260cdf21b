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

func create(ctx context.Context, r *request) (any, error) {
	var body contracts.CreateRequest
	if err := r.change(&body); err != nil {
		return nil, err
	}
	return r.api.service.Create(ctx, r.caller, body)
}

func list(ctx context.Context, r *request) (any, error) {
	if err := r.proved(); err != nil {
		return nil, err
	}
	return r.api.service.List(ctx, r.caller, contracts.ContractQuery{
		Status: niptemp.Status(r.query.text("status")), Limit: r.query.number("limit"), Offset: r.query.number("offset"),
	})
}

func get(ctx context.Context, r *request) (any, error) {
	return r.api.service.Get(ctx, r.caller, r.path[0])
}

func move(ctx context.Context, r *request) (any, error) {
	var body contracts.MoveRequest
	if err := r.change(&body); err != nil {
		return nil, err
	}
	return r.api.service.Move(ctx, r.caller, r.path[0], body)
}

func transitions(ctx context.Context, r *request) (any, error) {
	return r.api.service.Transitions(ctx, r.caller, r.path[0], contracts.TransitionQuery{
		RequesterAgentID: r.query.text("requester_agent_id"), Limit: r.query.number("limit"), Offset: r.query.number("offset"),
	})
}

func say(ctx context.Context, r *request) (any, error) {
	var body contracts.EntryRequest
	if err := r.change(&body); err != nil {
		return nil, err
	}
	return r.api.service.Say(ctx, r.caller, r.path[0], body)
}

func entries(ctx context.Context, r *request) (any, error) {
	return r.api.service.Entries(ctx, r.caller, r.path[0], contracts.EntryQuery{
		RequesterAgentID: r.query.text("requester_agent_id"), Type: r.query.text("type"),
		Visibility: contracts.Visibility(r.query.text("visibility")), Author: r.query.text("author"),
		Limit: r.query.number("limit"), Offset: r.query.number("offset"), Events: r.query.text("events") == "true",
	})
}

func entry(ctx context.Context, r *request) (any, error) {
	return r.api.service.Entry(ctx, r.caller, r.path[0], r.path[1])
}

// disclosureRequest has no members; the body may be left out.
type disclosureRequest struct{}

func disclosure(ctx context.Context, r *request) (any, error) {
	if err := r.bare(&disclosureRequest{}); err != nil {
		return nil, err
	}
	return r.api.service.Disclose(ctx, r.caller, r.path[0], r.path[1])
}

func summary(ctx context.Context, r *request) (any, error) {
	return r.api.service.Summary(ctx, r.caller, r.path[0])
}

func order(ctx context.Context, r *request) (any, error) {
	if err := r.proved(); err != nil {
		return nil, err
	}
	return r.api.service.Order(ctx, r.caller, r.path[0])
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
	return r.api.service.Search(ctx, r.caller, r.path[0], body)
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
		made, err := r.api.service.Provision(ctx, r.caller, body.AgentID)
		return identityAnswer{made.Identity, made.Token}, err
	}
	bound, err := r.api.service.Bind(ctx, r.caller, body.AgentID, *body.PubKey)
	return identityAnswer{Identity: bound}, err
}

func identity(ctx context.Context, r *request) (any, error) {
	return r.api.service.Identity(ctx, r.path[0])
}

// claimRequest has no members; the body may be left out.
type claimRequest struct{}

func claim(ctx context.Context, r *request) (any, error) {
	if err := r.bare(&claimRequest{}); err != nil {
		return nil, err
	}
	return r.api.service.Claim(ctx, r.caller, r.path[0])
}

// tokenRequest has no members; the body may be left out.
type tokenRequest struct{}

func renewToken(ctx context.Context, r *request) (any, error) {
	if err := r.bare(&tokenRequest{}); err != nil {
		return nil, err
	}
	return r.api.service.Rotate(ctx, r.caller, r.path[0])
}

func voidToken(ctx context.Context, r *request) (any, error) {
	if err := r.bare(&struct{}{}); err != nil {
		return nil, err
	}
	return r.api.service.Void(ctx, r.caller, r.path[0])
}

func ownIdentity(ctx context.Context, r *request) (any, error) {
	return r.api.service.Me(ctx, r.caller)
}

func identities(ctx context.Context, r *request) (any, error) {
	return r.api.service.Identities(ctx, r.caller, r.query.number("limit"), r.query.number("offset"))
}

func deleteIdentity(ctx context.Context, r *request) (any, error) {
	if err := r.bare(&struct{}{}); err != nil {
		return nil, err
	}
	return r.api.service.Forget(ctx, r.caller, r.path[0], r.query.text("with_key") == "true")
}

// bare does what change does, for a call whose body may be left out.
func (r *request) bare(v any) error {
	if len(r.body) == 0 {
		r.body = []byte("{}")
	}
	return r.change(v)
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
