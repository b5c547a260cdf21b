package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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

// Program is what the write policy program is measured by.
type Program struct {
	answers *prometheus.CounterVec
	took    prometheus.Histogram
	ends    prometheus.Counter
}

func newProgram(r registry) *Program {
	return &Program{
		answers: r.counterVec("engramd_write_program_answers_total",
			"Events that the write policy program was asked about, by its answer; error is the lack of one.", programLabel),
		took: r.histogram("engramd_write_program_seconds",
			"Time that an event was held up by the write policy program, its turn included.",
			prometheus.ExponentialBuckets(.0001, 4, 9)),
		ends: r.counter("engramd_write_program_failures_total",
			"Times that the write policy program failed, could not be started or was ended for what it did, and was started anew."),
	}
}

// ProgramAsked counts one event that the write policy program was asked about:
// "accept", "reject", "shadowReject" or "error", and how long it was held up.
func (p *Program) ProgramAsked(outcome string, took time.Duration) {
	if p == nil {
		return
	}
	p.answers.WithLabelValues(programLabel.of(outcome)).Inc()
	p.took.Observe(took.Seconds())
}

// ProgramEnded counts an end of the write policy program that nobody asked for.
func (p *Program) ProgramEnded() {
	if p != nil {
		p.ends.Inc()
	}
}
