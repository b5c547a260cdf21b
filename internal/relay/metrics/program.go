package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
