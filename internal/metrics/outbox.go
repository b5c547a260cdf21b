package metrics

import "github.com/prometheus/client_golang/prometheus"

// OutboxLag says how far behind the outbox of contract memory is: events that wait, and the age in seconds of the oldest.
type OutboxLag struct {
	Local, Remote             float64
	OldestLocal, OldestRemote float64
}

// defineOutbox makes what the outbox of contract memory counts.
func (m *Metrics) defineOutbox() {
	m.outbox = m.counterVec("engramd_outbox_attempts_total",
		"Attempts to deliver contract events, to this relay (local) or to further ones (remote), by outcome.", targetLabel(), attemptLabel())
}

// OutboxTried counts one attempt to deliver an event: "delivered", "known" (the relay had it), "superseded" (it has a newer
// one and takes no older), "withdrawn", "abandoned" (refused for good), "refused" or "failed".
func (m *Metrics) OutboxTried(local bool, outcome string) {
	if m == nil {
		return
	}
	m.outbox.WithLabelValues(targetOf(local), attemptLabel().of(outcome)).Inc()
}

// WatchOutbox registers the outbox's lag, which lag reads at every scrape. Call it once.
func (m *Metrics) WatchOutbox(lag func() OutboxLag) {
	if m == nil {
		return
	}
	m.registry.MustRegister(&outboxCollector{
		lag:     lag,
		waiting: prometheus.NewDesc("engramd_outbox_waiting", "Deliveries of contract events that wait.", []string{"target"}, nil),
		oldest:  prometheus.NewDesc("engramd_outbox_oldest_seconds", "Age of the oldest delivery that waits; 0 when none does.", []string{"target"}, nil),
	})
}

// outboxCollector asks once for both gauges.
type outboxCollector struct {
	lag             func() OutboxLag
	waiting, oldest *prometheus.Desc
}

// Describe names the gauges.
func (c *outboxCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.waiting
	out <- c.oldest
}

// Collect reads them.
func (c *outboxCollector) Collect(out chan<- prometheus.Metric) {
	l := c.lag()
	for _, v := range []struct {
		desc  *prometheus.Desc
		local bool
		value float64
	}{{c.waiting, true, l.Local}, {c.waiting, false, l.Remote}, {c.oldest, true, l.OldestLocal}, {c.oldest, false, l.OldestRemote}} {
		out <- prometheus.MustNewConstMetric(v.desc, prometheus.GaugeValue, v.value, targetOf(v.local))
	}
}

func targetOf(local bool) string {
	if local {
		return "local"
	}
	return "remote"
}

func targetLabel() label { return label{"target", []string{"local", "remote"}} }

func attemptLabel() label {
	return label{"outcome", []string{"delivered", "known", "superseded", "withdrawn", "abandoned", "refused", "failed", other}}
}
