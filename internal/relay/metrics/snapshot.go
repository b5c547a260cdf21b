package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
// does not verify), "busy" (somebody else had the lock) or "failed".
func (s *Snapshots) SnapshotDone(operation, outcome string, at time.Time, took time.Duration) {
	if s == nil {
		return
	}
	operation = snapshotOperationLabel.of(operation)
	s.operations.WithLabelValues(operation, snapshotOutcomeLabel.of(outcome)).Inc()
	s.seconds.WithLabelValues(operation).Add(took.Seconds())
	if outcome == "ok" || outcome == "unchanged" {
		s.last.WithLabelValues(operation).Set(float64(at.Unix()))
	}
}
