package metrics

import "github.com/prometheus/client_golang/prometheus"

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
