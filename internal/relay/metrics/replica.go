package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ReplicaLag says where this relay stands with one that it follows.
type ReplicaLag struct {
	Lag         float64 // seconds since something may be missing here
	LastSuccess float64 // Unix time of the end of the last pass; 0 is never
	Live        bool    // what arrives there is taken at once
}

// Replicas is what following other relays counts.
type Replicas struct{ events *prometheus.CounterVec }

func newReplicas(r registry) *Replicas {
	return &Replicas{r.counters("engramd_replica_events_total",
		"Events that a followed relay (replica is its place in the configuration) brought, by what became of them, and refused ones by reason.",
		"replica", "outcome", "reason")}
}

// ReplicaEvent counts one event of the n-th followed relay: "taken", "known",
// "deleted" or "refused", and the prefix of a refusal.
func (r *Replicas) ReplicaEvent(n int, outcome, prefix string) {
	reason := ""
	if prefix != "" {
		reason = copyReasonLabel.of(prefix)
	}
	r.events.WithLabelValues(strconv.Itoa(n), copyLabel.of(outcome), reason).Inc()
}

// WatchReplicas registers the followed relays' lag, which lag reads at every
// scrape, in the order of the configuration. Call it once.
func (m *Metrics) WatchReplicas(lag func() []ReplicaLag) {
	m.registry.watch([]string{"replica"}, []gauge{
		{"engramd_replica_lag_seconds", "Since when something that a followed relay has may be missing here; 0 while all that arrives there is taken."},
		{"engramd_replica_last_success_seconds", "Unix time at which all that a followed relay shows was last here; 0 is never."},
		{"engramd_replica_live", "Whether what arrives at a followed relay is taken at once."},
	}, func(set setGauges) {
		for i, l := range lag() {
			set([]float64{l.Lag, l.LastSuccess, oneIf(l.Live)}, strconv.Itoa(i+1))
		}
	})
}

// Snapshots is what operations on snapshots count.
type Snapshots struct {
	operations *prometheus.CounterVec
	seconds    *prometheus.CounterVec
	last       *prometheus.GaugeVec
}

func newSnapshots(r registry) *Snapshots {
	last := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "engramd_snapshot_last_success_timestamp_seconds",
		Help: "When an operation on snapshots last went well in this process; absent if it never did.",
	}, []string{"operation"})
	r.MustRegister(last)
	return &Snapshots{
		operations: r.counterVec("engramd_snapshot_operations_total",
			"Operations on snapshots by this process, by operation and outcome.", snapshotOperationLabel, snapshotOutcomeLabel),
		seconds: r.counterVec("engramd_snapshot_seconds_total", "Time that operations on snapshots took.", snapshotOperationLabel),
		last:    last,
	}
}

// SnapshotDone counts one operation on snapshots: "create", "scheduled",
// "verify", "repair", "rollback", "replace", "delete" or "gc", with its
// outcome: "ok", "unchanged" (nothing new to be kept), "invalid" (the bundle
// does not verify), "busy" (somebody else had the lock, or the
// clock is not confirmed) or "failed".
func (s *Snapshots) SnapshotDone(operation, outcome string, at time.Time, took time.Duration) {
	operation = snapshotOperationLabel.of(operation)
	s.operations.WithLabelValues(operation, snapshotOutcomeLabel.of(outcome)).Inc()
	s.seconds.WithLabelValues(operation).Add(took.Seconds())
	if outcome == "ok" || outcome == "unchanged" {
		s.last.WithLabelValues(operation).Set(float64(at.Unix()))
	}
}
