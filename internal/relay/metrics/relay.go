package metrics

import "strconv"

// Relay is what the relay and its gate count.
type Relay struct {
	// EventDone counts one submitted event, EVENT frames and HTTP alike. class is
	// the name of its gate class; outcome one of "stored", "replaced", "duplicate",
	// "stale", "conflict" (a base that is not the head), "deleted", "ephemeral",
	// "refused" (by policy, lifecycle or quota) and "failed" (the store). What was
	// malformed or wrongly signed has no class and is counted by FrameRefused.
	EventDone func(class, outcome string)
	// GateDecision counts one decision of the read gate. surface is the name of the
	// gate.Surface that the question came from, rule the rule that decided (a class
	// name, "wildcard" or "private"), decision "granted", "auth-required" or
	// "restricted" for the first check and "withheld" for an event that the second
	// check kept back.
	GateDecision func(surface, rule, decision string)
}

func newRelay(r registry) *Relay {
	gate := r.counterVec("engramd_gate_decisions_total", "Decisions of the read gate, by surface and rule.", gateSurfaces, gateRules, decisionLabel)
	return &Relay{
		EventDone: r.countBoth("engramd_events_total", "Events submitted, by gate class of their kind and outcome.", gateClasses, outcomeLabel),
		GateDecision: func(surface, rule, decision string) {
			gate.WithLabelValues(gateSurfaces.of(surface), gateRules.of(rule), decisionLabel.of(decision)).Inc()
		},
	}
}

// HTTP is what the relay's port counts.
type HTTP struct {
	// HTTPRefused counts one HTTP request that was not worked on: "blocked" (its
	// address is, or a RejectConnection hook says so), "crowded" (too many of its
	// share, or in all, wait for their turn), "late" (its turn did not come in
	// time), "bytes" (its share holds too many), "slow" (its body did not arrive in
	// time), "memory" (the process is short of it) or "behind" (it is not known
	// whether this node has what others acknowledged).
	HTTPRefused func(reason string)
	// HTTPDone counts one HTTP request: its endpoint and the code that was sent.
	HTTPDone func(endpoint string, status int)
	// APIRefused counts one request that was not let in: "signature" (NIP-98, a bad
	// one), "token" (unknown), "scheme" (neither of both), "replayed", "busy" (too
	// many signed changes) or "too_large".
	APIRefused func(reason string)
}

func newHTTP(r registry) *HTTP {
	requests := r.countBoth("engramd_http_requests_total", "HTTP requests on the relay's port, by endpoint and status class.",
		endpointLabel, label{"status", []string{"1xx", "2xx", "3xx", "4xx", "5xx"}})
	return &HTTP{
		HTTPRefused: r.count("engramd_http_refused_total", "HTTP requests that were not worked on, by reason.", httpRefusedLabel),
		HTTPDone: func(endpoint string, status int) {
			if status < 100 || status > 599 {
				status = 500
			}
			requests(endpoint, strconv.Itoa(status/100)+"xx")
		},
		APIRefused: r.count("engramd_api_refused_total", "Requests to the contract memory API that were not let in, by reason.", apiRefusedLabel),
	}
}

// Admin is what the management API (NIP-86) counts.
type Admin struct {
	// AdminCall counts one call of a managing key: its method, or "" when it has
	// none that is known, and "ok", "invalid", "restricted" or "error".
	AdminCall func(method, outcome string)
	// AdminRefused counts one call that was not let in: "unauthorized" (no good
	// signature), "stranger" (of a key that does not manage the relay),
	// "replayed", "busy" (too many) or "too_large".
	AdminRefused func(reason string)
}

func newAdmin(r registry) *Admin {
	return &Admin{
		AdminCall: r.countBoth("engramd_management_calls_total",
			"Calls of managing keys (NIP-86), by method and outcome; each is in the audit table.", adminMethodLabel, adminOutcomeLabel),
		AdminRefused: r.count("engramd_management_refused_total",
			"Calls of the management API that were not let in, by reason. They are in no table.", adminRefusedLabel),
	}
}
