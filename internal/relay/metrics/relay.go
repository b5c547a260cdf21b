package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Relay is what the relay and its gate count.
type Relay struct {
	events *prometheus.CounterVec
	gate   *prometheus.CounterVec
}

func newRelay(r registry) *Relay {
	return &Relay{
		events: r.counterVec("engramd_events_total",
			"Events submitted, by gate class of their kind and outcome.", gateClasses, outcomeLabel),
		gate: r.counterVec("engramd_gate_decisions_total",
			"Decisions of the read gate, by surface and rule.", gateSurfaces, gateRules, decisionLabel),
	}
}

// EventDone counts one submitted event, EVENT frames and HTTP alike. class is
// the name of its gate class; outcome one of "stored", "replaced", "duplicate",
// "stale", "conflict" (a base that is not the head), "deleted", "ephemeral",
// "refused" (by policy, lifecycle or quota) and "failed" (the store). What was
// malformed or wrongly signed has no class and is counted by FrameRefused.
func (r *Relay) EventDone(class, outcome string) {
	if r != nil {
		r.events.WithLabelValues(gateClasses.of(class), outcomeLabel.of(outcome)).Inc()
	}
}

// GateDecision counts one decision of the read gate. surface is the name of the
// gate.Surface that the question came from, rule the rule that decided (a class
// name, "wildcard" or "private"), decision "granted", "auth-required" or
// "restricted" for the first check and "withheld" for an event that the second
// check kept back.
func (r *Relay) GateDecision(surface, rule, decision string) {
	if r != nil {
		r.gate.WithLabelValues(gateSurfaces.of(surface), gateRules.of(rule), decisionLabel.of(decision)).Inc()
	}
}

// HTTP is what the relay's port counts.
type HTTP struct {
	requests   *prometheus.CounterVec
	refused    *prometheus.CounterVec
	apiRefused *prometheus.CounterVec
}

func newHTTP(r registry) *HTTP {
	return &HTTP{
		requests: r.counterVec("engramd_http_requests_total", "HTTP requests on the relay's port, by endpoint and status class.",
			endpointLabel, label{"status", []string{"1xx", "2xx", "3xx", "4xx", "5xx"}}),
		refused: r.counterVec("engramd_http_refused_total", "HTTP requests that were not worked on, by reason.", httpRefusedLabel),
		apiRefused: r.counterVec("engramd_api_refused_total",
			"Requests to the contract memory API that were not let in, by reason.", apiRefusedLabel),
	}
}

// HTTPRefused counts one HTTP request that was not worked on: "blocked" (its
// address is, or a RejectConnection hook says so), "crowded" (too many of its
// share, or in all, wait for their turn), "late" (its turn did not come in
// time), "bytes" (its share holds too many), "slow" (its body did not arrive in
// time), "memory" (the process is short of it) or "behind" (it is not known
// whether this node has what others acknowledged).
func (h *HTTP) HTTPRefused(reason string) {
	if h != nil {
		h.refused.WithLabelValues(httpRefusedLabel.of(reason)).Inc()
	}
}

// HTTPDone counts one HTTP request. endpoint is "websocket", "info", "page",
// "healthz", "readyz", "events", "query", "count", "history", "management",
// "contracts", "contract_memory", "identities" or "openapi", anything else is
// "other"; status the code that was sent.
func (h *HTTP) HTTPDone(endpoint string, status int) {
	if h == nil {
		return
	}
	if status < 100 || status > 599 {
		status = 500
	}
	h.requests.WithLabelValues(endpointLabel.of(endpoint), strconv.Itoa(status/100)+"xx").Inc()
}

// APIRefused counts one request that was not let in: "signature" (NIP-98, a bad
// one), "token" (unknown), "scheme" (neither of both), "replayed", "busy" (too
// many signed changes) or "too_large".
func (h *HTTP) APIRefused(reason string) {
	if h != nil {
		h.apiRefused.WithLabelValues(apiRefusedLabel.of(reason)).Inc()
	}
}

// Admin is what the management API (NIP-86) counts.
type Admin struct {
	calls   *prometheus.CounterVec
	refused *prometheus.CounterVec
}

func newAdmin(r registry) *Admin {
	return &Admin{
		calls: r.counterVec("engramd_management_calls_total",
			"Calls of managing keys (NIP-86), by method and outcome; each is in the audit table.", adminMethodLabel, adminOutcomeLabel),
		refused: r.counterVec("engramd_management_refused_total",
			"Calls of the management API that were not let in, by reason. They are in no table.", adminRefusedLabel),
	}
}

// AdminCall counts one call of a managing key: its method, or "" when it has
// none that is known, and "ok", "invalid", "restricted" or "error".
func (a *Admin) AdminCall(method, outcome string) {
	if a != nil {
		a.calls.WithLabelValues(adminMethodLabel.of(method), adminOutcomeLabel.of(outcome)).Inc()
	}
}

// AdminRefused counts one call that was not let in: "unauthorized" (no good
// signature), "stranger" (of a key that does not manage the relay),
// "replayed", "busy" (too many) or "too_large".
func (a *Admin) AdminRefused(reason string) {
	if a != nil {
		a.refused.WithLabelValues(adminRefusedLabel.of(reason)).Inc()
	}
}
