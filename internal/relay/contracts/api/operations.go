package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/http"
	"engramd/nips/niptemp"
)

// operation is one call of the API: how it is found, what it takes and returns,
// and which function answers. The OpenAPI document is made of the same values.
type operation struct {
	method, path string // {name} is a parameter
	id, summary  string
	endpoint     string       // metric label
	proof        proofNeed    // which proof it needs at all
	params       []param      // of the query string
	body         reflect.Type // of the request, nil without one
	result       reflect.Type
	status       int
	surface      gate.Surface // of calls that read contract memory: it is in the gate's table
	refusals     []int        // statuses beside 400, 401, 403, 413, 429 and 503
	serve        handler
}

type proofNeed int

const (
	proofNone proofNeed = iota
	proofOptional
	proofRequired
)

const (
	contractsPath = "/api/escrow/contracts"
	memoryPath    = contractsPath + "/{id}/memory"
	maxLimit      = 500
	maxOffset     = 1<<31 - 1
)

var (
	limitParam     = param{name: "limit", help: "entries of a page; 50 without it", number: true, least: 1, most: maxLimit}
	offsetParam    = param{name: "offset", help: "entries to pass over", number: true, most: maxOffset}
	pageParam      = param{name: "limit", help: "identities of a page; 50 without it", number: true, least: 1, most: maxLimit}
	skipParam      = param{name: "offset", help: "identities to pass over", number: true, most: maxOffset}
	requesterParam = param{name: "requester_agent_id", help: "the caller's own agent id; who is calling is proved by the Authorization header, and another's id is 403 (401 without proof)"}
)

var posterParam = param{name: "poster", help: "agent id or pubkey of the poster whose contract is meant, where several have this id: a party finds it also if the id is another's"}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// operations returns all operations. More specific paths come before
// {entry_id}.
func operations() []operation {
	statuses, types := []string{}, niptemp.EntryTypes()
	for _, s := range niptemp.Statuses() {
		statuses = append(statuses, string(s))
	}
	visibilities := []string{string(contracts.Shared), string(contracts.PosterOnly), string(contracts.WorkerOnly)}
	typeParam := param{name: "type", help: "entries of one type", values: types}
	return []operation{
		{method: http.MethodPost, path: contractsPath, id: "createContract", summary: "Offer a contract; the caller is its poster", endpoint: "contracts", proof: proofRequired,
			body: typeOf[contracts.CreateRequest](), result: typeOf[contracts.Contract](), status: http.StatusCreated, refusals: []int{409}, serve: create},
		{method: http.MethodGet, path: contractsPath, id: "listContracts", summary: "The caller's contracts, newest first", endpoint: "contracts", proof: proofRequired,
			params: []param{{name: "status", help: "contracts in one status", values: statuses}, limitParam, offsetParam, requesterParam},
			result: typeOf[contracts.ContractPage](), status: http.StatusOK, surface: gate.SurfaceContracts, serve: list},
		{method: http.MethodGet, path: contractsPath + "/{id}", id: "getContract", summary: "One contract", endpoint: "contracts", proof: proofOptional,
			params: []param{posterParam, requesterParam}, result: typeOf[contracts.Contract](), status: http.StatusOK, refusals: []int{404}, surface: gate.SurfaceContract, serve: reading(service.Get)},
		{method: http.MethodPost, path: contractsPath + "/{id}/transitions", id: "moveContract", summary: "Move the state machine", endpoint: "contracts", proof: proofRequired,
			params: []param{posterParam}, body: typeOf[contracts.MoveRequest](), result: typeOf[contracts.Contract](), status: http.StatusOK, refusals: []int{404, 409}, serve: changing(service.Move)},
		{method: http.MethodGet, path: contractsPath + "/{id}/transitions", id: "listTransitions", summary: "The moves of a contract, in the order in which they came", endpoint: "contracts", proof: proofOptional,
			params: []param{posterParam, limitParam, offsetParam, requesterParam}, result: typeOf[contracts.TransitionPage](), status: http.StatusOK, refusals: []int{404}, surface: gate.SurfaceTransitions, serve: transitions},
		{method: http.MethodPost, path: memoryPath, id: "addEntry", summary: "Write an entry", endpoint: "contract_memory", proof: proofRequired,
			params: []param{posterParam}, body: typeOf[contracts.EntryRequest](), result: typeOf[contracts.Entry](), status: http.StatusCreated, refusals: []int{404, 409}, serve: changing(service.Say)},
		{method: http.MethodGet, path: memoryPath, id: "listEntries", summary: "Entries, in the order in which they arrived", endpoint: "contract_memory", proof: proofOptional,
			params: []param{posterParam, typeParam, {name: "visibility", help: "entries of one visibility", values: visibilities}, {name: "author", help: "entries of one author: agent id or hex pubkey"},
				limitParam, offsetParam, {name: "events", help: "true: each shared entry with its signed event", boolean: true}, requesterParam},
			result: typeOf[contracts.EntryPage](), status: http.StatusOK, refusals: []int{404}, surface: gate.SurfaceThread, serve: entries},
		{method: http.MethodGet, path: memoryPath + "/summary", id: "summarizeEntries", summary: "Counts of what the caller may see", endpoint: "contract_memory", proof: proofOptional,
			params: []param{posterParam, requesterParam}, result: typeOf[contracts.Summary](), status: http.StatusOK, refusals: []int{404}, surface: gate.SurfaceThreadSummary, serve: reading(service.Summary)},
		{method: http.MethodPost, path: memoryPath + "/search", id: "searchEntries", summary: "Entries with every word of a query, among those the caller may see; of a long thread in several calls", endpoint: "contract_memory", proof: proofRequired,
			params: []param{posterParam}, body: typeOf[contracts.SearchRequest](), result: typeOf[contracts.SearchPage](), status: http.StatusOK, refusals: []int{404}, surface: gate.SurfaceThreadSearch, serve: search},
		{method: http.MethodGet, path: memoryPath + "/{entry_id}", id: "getEntry", summary: "One entry", endpoint: "contract_memory", proof: proofOptional,
			params: []param{posterParam, requesterParam}, result: typeOf[contracts.Entry](), status: http.StatusOK, refusals: []int{404}, surface: gate.SurfaceThreadEntry, serve: entry},
		{method: http.MethodPost, path: memoryPath + "/{entry_id}/disclose", id: "discloseEntry", summary: "Open one sealed entry to somebody else: its event and its message keys, for a party whose key the server holds", endpoint: "contract_memory", proof: proofRequired,
			params: []param{posterParam}, body: typeOf[disclosureRequest](), result: typeOf[contracts.Disclosure](), status: http.StatusOK, refusals: []int{404, 409}, serve: acting(disclosure)},
		{method: http.MethodGet, path: contractsPath + "/{id}/order", id: "getOrder", summary: "The order in which states and entries arrived, signed by the relay, for the parties, the arbitrator and, in a dispute, the operator", endpoint: "contracts", proof: proofRequired,
			params: []param{posterParam, requesterParam}, result: typeOf[contracts.Order](), status: http.StatusOK, refusals: []int{404}, surface: gate.SurfaceThreadOrder, serve: order},
		{method: http.MethodPost, path: "/api/identities", id: "createIdentity", summary: "Bind an agent id to the caller's own key, or, without pubkey and as the operator, provision a key", endpoint: "identities", proof: proofRequired,
			body: typeOf[identityRequest](), result: typeOf[identityAnswer](), status: http.StatusCreated, refusals: []int{409}, serve: createIdentity},
		{method: http.MethodGet, path: "/api/identities", id: "listIdentities", summary: "All identities by their names, for the operator", endpoint: "identities", proof: proofRequired,
			params: []param{pageParam, skipParam}, result: typeOf[contracts.IdentityPage](), status: http.StatusOK, serve: identities},
		{method: http.MethodGet, path: "/api/identity", id: "getOwnIdentity", summary: "The caller's own identity, such as a bearer token stands for", endpoint: "identities", proof: proofRequired,
			result: typeOf[contracts.Identity](), status: http.StatusOK, refusals: []int{404}, serve: ownIdentity},
		{method: http.MethodGet, path: "/api/identities/{agent_id}", id: "getIdentity", summary: "The public part of an identity", endpoint: "identities", proof: proofOptional,
			result: typeOf[contracts.Identity](), status: http.StatusOK, refusals: []int{404}, serve: publicIdentity},
		{method: http.MethodDelete, path: "/api/identities/{agent_id}", id: "deleteIdentity", summary: "Forget an identity, for the operator; its name is free again", endpoint: "identities", proof: proofRequired,
			params: []param{{name: "with_key", help: "true: also its key, if the relay keeps it; nobody else has that key, and it is gone for good", boolean: true}},
			result: typeOf[contracts.Identity](), status: http.StatusOK, refusals: []int{404, 409}, serve: acting(deleteIdentity)},
		{method: http.MethodPost, path: "/api/identities/{agent_id}/claim", id: "claimIdentity", summary: "Take the key of a provisioned identity away; the relay forgets it", endpoint: "identities", proof: proofRequired,
			body: typeOf[claimRequest](), result: typeOf[contracts.Claimed](), status: http.StatusOK, refusals: []int{404, 409}, serve: acting(reading(service.Claim))},
		{method: http.MethodPost, path: "/api/identities/{agent_id}/token", id: "renewToken", summary: "Make a new bearer token for a provisioned identity, by itself or the operator; those before are void", endpoint: "identities", proof: proofRequired,
			body: typeOf[tokenRequest](), result: typeOf[contracts.Provisioned](), status: http.StatusOK, refusals: []int{404, 409}, serve: acting(reading(service.Rotate))},
		{method: http.MethodDelete, path: "/api/identities/{agent_id}/token", id: "voidToken", summary: "Void all bearer tokens of a provisioned identity, by itself or the operator", endpoint: "identities", proof: proofRequired,
			result: typeOf[contracts.Identity](), status: http.StatusOK, refusals: []int{404, 409}, serve: acting(reading(service.Void))},
		{method: http.MethodGet, path: "/api/openapi.json", id: "getDocument", summary: "This document", endpoint: "openapi", proof: proofNone, status: http.StatusOK, serve: openAPI},
	}
}

// route is a path with its operations.
type route struct {
	segments   []string
	endpoint   string
	operations []operation
	api        *API
}

func routesOf(ops []operation, a *API) (routes []route) {
	for _, op := range ops {
		segments := strings.Split(strings.Trim(op.path, "/"), "/")
		i := slices.IndexFunc(routes, func(r route) bool { return slices.Equal(r.segments, segments) })
		if i < 0 {
			i = len(routes)
			routes = append(routes, route{segments: segments, endpoint: op.endpoint, api: a})
		}
		routes[i].operations = append(routes[i].operations, op)
	}
	return routes
}

// match returns the values of a path's parameters.
func (r *route) match(segments []string) (values []string, ok bool) {
	if len(segments) != len(r.segments) {
		return nil, false
	}
	for i, s := range r.segments {
		switch {
		case strings.HasPrefix(s, "{"):
			values = append(values, segments[i])
		case s != segments[i]:
			return nil, false
		}
	}
	return values, true
}

// Route returns what is served at a path.
func (a *API) Route(segments []string) *relayhttp.Resource {
	for i := range a.routes {
		values, ok := a.routes[i].match(segments)
		if !ok {
			continue
		}
		found := &relayhttp.Resource{Endpoint: a.routes[i].endpoint, Operations: map[string]relayhttp.Operation{}, Fixed: true}
		for _, op := range a.routes[i].operations {
			found.Operations[op.method] = a.operate(op, values)
			found.Fixed = found.Fixed && op.proof == proofNone // only the document is the same for all
		}
		return found
	}
	return nil
}
