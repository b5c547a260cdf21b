package metrics

import "github.com/prometheus/client_golang/prometheus"

// Broker is what the sender of events to a broker counts.
type Broker struct {
	messages *prometheus.CounterVec
	up       prometheus.Gauge
	failures prometheus.Counter
}

func newBroker(r registry) *Broker {
	return &Broker{
		messages: r.counterVec("engramd_broker_messages_total",
			"Messages for the events broker, by kind, sent or dropped.", brokerKindLabel, brokerOutcomeLabel),
		up: r.gauge("engramd_broker_connected", "1 while there is a connection to the events broker; 0 also when events are off."),
		failures: r.counter("engramd_broker_failures_total",
			"Attempts to connect to the events broker that failed, and connections that ended."),
	}
}

// BrokerMessage counts one message: kind "created", "restored", "deleted", "gc"
// or "mutated", sent or dropped.
func (b *Broker) BrokerMessage(kind string, sent bool) {
	if b == nil {
		return
	}
	outcome := "dropped"
	if sent {
		outcome = "sent"
	}
	b.messages.WithLabelValues(brokerKindLabel.of(kind), outcome).Inc()
}

// BrokerConnected says whether there is a connection to the events broker.
func (b *Broker) BrokerConnected(up bool) {
	if b != nil {
		b.up.Set(oneIf(up))
	}
}

// BrokerFailed counts a failed attempt to connect, or a connection that ended.
func (b *Broker) BrokerFailed() {
	if b != nil {
		b.failures.Inc()
	}
}
