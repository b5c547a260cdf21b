package metrics

// defineAdmin makes what the management API (NIP-86) counts.
func (m *Metrics) defineAdmin() {
	m.adminCalls = m.counterVec("engramd_management_calls_total",
		"Calls of managing keys (NIP-86), by method and outcome; each is in the audit table.", adminMethodLabel(), adminOutcomeLabel())
	m.adminRefused = m.counterVec("engramd_management_refused_total",
		"Calls of the management API that were not let in, by reason. They are in no table.", adminRefusedLabel())
}

// AdminCall counts one call of a managing key: its method, or "" when it has
// none that is known, and "ok", "invalid", "restricted" or "error".
func (m *Metrics) AdminCall(method, outcome string) {
	if m == nil {
		return
	}
	m.adminCalls.WithLabelValues(adminMethodLabel().of(method), adminOutcomeLabel().of(outcome)).Inc()
}

// AdminRefused counts one call that was not let in: "unauthorized" (no good
// signature), "stranger" (of a key that does not manage the relay),
// "replayed", "busy" (too many) or "too_large".
func (m *Metrics) AdminRefused(reason string) {
	if m == nil {
		return
	}
	m.adminRefused.WithLabelValues(adminRefusedLabel().of(reason)).Inc()
}
