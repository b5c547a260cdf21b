package metrics

// defineAPI makes what the APIs beside the relay's own endpoints count.
func (m *Metrics) defineAPI() {
	m.apiRefused = m.counterVec("engramd_api_refused_total",
		"Requests to the contract memory API that were not let in, by reason.", apiRefusedLabel())
}

func apiRefusedLabel() label {
	return label{"reason", []string{"signature", "token", "scheme", "replayed", "busy", "too_large", other}}
}

// APIRefused counts one request that was not let in: "signature" (NIP-98, a bad
// one), "token" (unknown), "scheme" (neither of both), "replayed", "busy" (too
// many signed changes) or "too_large".
func (m *Metrics) APIRefused(reason string) {
	if m == nil {
		return
	}
	m.apiRefused.WithLabelValues(apiRefusedLabel().of(reason)).Inc()
}
