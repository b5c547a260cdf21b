package metrics

import "github.com/prometheus/client_golang/prometheus"

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
