package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Broker is what the sender of events to a broker counts.
type Broker struct {
	// BrokerMessage counts one message: kind "created", "restored", "deleted", "gc"
	// or "mutated", sent or dropped.
	BrokerMessage   func(kind string, sent bool)
	BrokerConnected func(up bool)
	BrokerFailed    func() // an attempt to connect failed, or a connection ended
}

func newBroker(r registry) *Broker {
	messages := r.countBoth("engramd_broker_messages_total", "Messages for the events broker, by kind, sent or dropped.", brokerKindLabel, brokerOutcomeLabel)
	up := r.gauge("engramd_broker_connected", "1 while there is a connection to the events broker; 0 also when events are off.")
	return &Broker{
		BrokerMessage: func(kind string, sent bool) {
			outcome := "dropped"
			if sent {
				outcome = "sent"
			}
			messages(kind, outcome)
		},
		BrokerConnected: func(is bool) { up.Set(oneIf(is)) },
		BrokerFailed:    r.counter("engramd_broker_failures_total", "Attempts to connect to the events broker that failed, and connections that ended.").Inc,
	}
}

// Program is what the write policy program is measured by.
type Program struct {
	// ProgramAsked counts one event that the write policy program was asked about:
	// "accept", "reject", "shadowReject" or "error", and how long it was held up.
	ProgramAsked func(outcome string, took time.Duration)
	ProgramEnded func() // nobody asked for the end
}

func newProgram(r registry) *Program {
	answers := r.count("engramd_write_program_answers_total",
		"Events that the write policy program was asked about, by its answer; error is the lack of one.", programLabel)
	held := r.histogram("engramd_write_program_seconds",
		"Time that an event was held up by the write policy program, its turn included.", prometheus.ExponentialBuckets(.0001, 4, 9))
	return &Program{
		ProgramAsked: func(outcome string, took time.Duration) {
			answers(outcome)
			held.Observe(took.Seconds())
		},
		ProgramEnded: r.counter("engramd_write_program_failures_total",
			"Times that the write policy program failed, could not be started or was ended for what it did, and was started anew.").Inc,
	}
}
