package metrics

// defineBroker makes what is counted of the events broker.
func (m *Metrics) defineBroker() {
	m.brokerMessages = m.counterVec("engramd_broker_messages_total",
		"Messages for the events broker, by kind, sent or dropped.", brokerKindLabel(), brokerOutcomeLabel())
	m.brokerUp = m.gauge("engramd_broker_connected", "1 while there is a connection to the events broker; 0 also when events are off.")
	m.brokerFailures = m.counter("engramd_broker_failures_total",
		"Attempts to connect to the events broker that failed, and connections that ended.")
}

// BrokerMessage counts one message: kind "created", "restored", "deleted", "gc"
// or "mutated", sent or dropped.
func (m *Metrics) BrokerMessage(kind string, sent bool) {
	if m == nil {
		return
	}
	outcome := "dropped"
	if sent {
		outcome = "sent"
	}
	m.brokerMessages.WithLabelValues(brokerKindLabel().of(kind), outcome).Inc()
}

// BrokerConnected says whether there is a connection to the events broker.
func (m *Metrics) BrokerConnected(up bool) {
	if m == nil {
		return
	}
	m.brokerUp.Set(0)
	if up {
		m.brokerUp.Set(1)
	}
}

// BrokerFailed counts a failed attempt to connect, or a connection that ended.
func (m *Metrics) BrokerFailed() {
	if m != nil {
		m.brokerFailures.Inc()
	}
}
