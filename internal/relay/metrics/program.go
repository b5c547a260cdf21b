package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func programLabel() label {
	return label{"outcome", []string{"accept", "reject", "shadowReject", "error", other}}
}

// defineProgram makes what the write policy program counts.
func (m *Metrics) defineProgram() {
	m.programAnswers = m.counterVec("engramd_write_program_answers_total",
		"Events that the write policy program was asked about, by its answer; error is the lack of one.", programLabel())
	m.programSeconds = m.histogram("engramd_write_program_seconds",
		"Time that an event was held up by the write policy program, its turn included.",
		prometheus.ExponentialBuckets(.0001, 4, 9))
	m.programEnds = m.counter("engramd_write_program_failures_total",
		"Times that the write policy program failed, could not be started or was ended for what it did, and was started anew.")
}

// ProgramAsked counts one event that the write policy program was asked about:
// "accept", "reject", "shadowReject" or "error", and how long it was held up.
func (m *Metrics) ProgramAsked(outcome string, took time.Duration) {
	if m == nil {
		return
	}
	m.programAnswers.WithLabelValues(programLabel().of(outcome)).Inc()
	m.programSeconds.Observe(seconds(took))
}

// ProgramEnded counts an end of the write policy program that nobody asked for.
func (m *Metrics) ProgramEnded() {
	if m == nil {
		return
	}
	m.programEnds.Inc()
}
