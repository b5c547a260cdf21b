package metrics

import "strconv"

// defineRelay makes what the relay, its gate, the HTTP port and the daemon
// count.
func (m *Metrics) defineRelay() {
	m.events = m.counterVec("engramd_events_total",
		"Events submitted, by gate class of their kind and outcome.", gateClasses, outcomeLabel())
	m.gate = m.counterVec("engramd_gate_decisions_total",
		"Decisions of the read gate, by surface and rule.", gateSurfaces, gateRules, decisionLabel())
	m.http = m.counterVec("engramd_http_requests_total", "HTTP requests on the relay's port, by endpoint and status class.",
		endpointLabel(), label{"status", []string{"1xx", "2xx", "3xx", "4xx", "5xx"}})
	m.httpRefused = m.counterVec("engramd_http_refused_total", "HTTP requests that were not worked on, by reason.", httpRefusedLabel())
	m.reloads = m.counterVec("engramd_config_reloads_total",
		"Configuration reloads (SIGHUP), by outcome.", label{"outcome", []string{"ok", "refused"}})
}

func endpointLabel() label {
	return label{"endpoint", []string{"websocket", "info", "page", "app", "healthz", "readyz", "events", "query", "count", "history", "management", "contracts", "contract_memory", "identities", "openapi", other}}
}

func httpRefusedLabel() label {
	return label{"reason", []string{"blocked", "crowded", "late", "bytes", "slow", "memory", "behind", other}}
}

// HTTPRefused counts one HTTP request that was not worked on: "blocked" (its
// address is, or a RejectConnection hook says so), "crowded" (too many of its
// share, or in all, wait for their turn), "late" (its turn did not come in
// time), "bytes" (its share holds too many), "slow" (its body did not arrive in
// time), "memory" (the process is short of it) or "behind" (it is not known
// whether this node has what others acknowledged).
func (m *Metrics) HTTPRefused(reason string) {
	if m == nil {
		return
	}
	m.httpRefused.WithLabelValues(httpRefusedLabel().of(reason)).Inc()
}

// EventDone counts one submitted event, EVENT frames and HTTP alike. class is
// the name of its gate class; outcome one of "stored", "replaced", "duplicate",
// "stale", "conflict" (a base that is not the head), "deleted", "ephemeral",
// "refused" (by policy, lifecycle or quota) and "failed" (the store). What was
// malformed or wrongly signed has no class and is counted by FrameRefused.
func (m *Metrics) EventDone(class, outcome string) {
	if m == nil {
		return
	}
	m.events.WithLabelValues(gateClasses.of(class), outcomeLabel().of(outcome)).Inc()
}

// GateDecision counts one decision of the read gate. surface is the name of the
// gate.Surface that the question came from, rule the rule that decided (a class
// name, "wildcard" or "private"), decision "granted", "auth-required" or
// "restricted" for the first check and "withheld" for an event that the second
// check kept back.
func (m *Metrics) GateDecision(surface, rule, decision string) {
	if m == nil {
		return
	}
	m.gate.WithLabelValues(gateSurfaces.of(surface), gateRules.of(rule), decisionLabel().of(decision)).Inc()
}

// HTTPDone counts one HTTP request. endpoint is "websocket", "info", "page",
// "healthz", "readyz", "events", "query", "count", "history", "management",
// "contracts", "contract_memory", "identities" or "openapi", anything else is
// "other"; status the code that was sent.
func (m *Metrics) HTTPDone(endpoint string, status int) {
	if m == nil {
		return
	}
	if status < 100 || status > 599 {
		status = 500
	}
	m.http.WithLabelValues(endpointLabel().of(endpoint), strconv.Itoa(status/100)+"xx").Inc()
}
