package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// OutboxLag says how far behind the outbox of contract memory is with one
// relay: events that wait, and the age in seconds of the oldest.
type OutboxLag struct{ Waiting, Oldest float64 }

// Outbox is what the outbox of contract memory counts.
type Outbox struct{ attempts *prometheus.CounterVec }

func newOutbox(r registry) *Outbox {
	o := &Outbox{r.counters("engramd_outbox_attempts_total",
		"Attempts to deliver contract events, to this relay (local) or to a further one (remote; relay is its place in contracts.publish_to), by outcome.",
		"target", "relay", "outcome")}
	o.outboxTo(0)
	return o
}

// outboxTo makes the counters for a relay.
func (o *Outbox) outboxTo(relay int) {
	each([]label{attemptLabel}, []string{targetOf(relay), placeOf(relay)}, func(values []string) { o.attempts.WithLabelValues(values...) })
}

// OutboxTried counts one attempt to deliver an event, to this relay (0) or to
// one of contracts.publish_to (1, 2, …): "delivered", "known" (the relay had
// it), "superseded" (it has a newer one and takes no older), "withdrawn",
// "abandoned" (refused for good), "refused" or "failed".
func (o *Outbox) OutboxTried(relay int, outcome string) {
	o.attempts.WithLabelValues(targetOf(relay), placeOf(relay), attemptLabel.of(outcome)).Inc()
}

// WatchOutbox registers the outbox's lag, which lag reads at every scrape: of
// this relay, then of as many further ones as relays says, in the order of
// contracts.publish_to; nothing when it cannot be read. Call it once.
func (m *Metrics) WatchOutbox(relays int, lag func() []OutboxLag) {
	for i := range relays {
		m.Outbox.outboxTo(i + 1)
	}
	m.registry.watch([]string{"target", "relay"}, []gauge{
		{"engramd_outbox_waiting", "Deliveries of contract events that wait."},
		{"engramd_outbox_oldest_seconds", "Age of the oldest delivery that waits; 0 when none does."},
	}, func(set setGauges) {
		for i, l := range lag() {
			set([]float64{l.Waiting, l.Oldest}, targetOf(i), placeOf(i))
		}
	})
}

func targetOf(relay int) string {
	if relay == 0 {
		return "local"
	}
	return "remote"
}

// placeOf reports which further relay: its place in contracts.publish_to, as
// engramd outbox ls shows it too.
func placeOf(relay int) string {
	if relay == 0 {
		return ""
	}
	return strconv.Itoa(relay)
}
