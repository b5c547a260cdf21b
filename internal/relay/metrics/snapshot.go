package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// defineSnapshot makes what is counted of snapshots.
func (m *Metrics) defineSnapshot() {
	m.snapshots = m.counterVec("engramd_snapshot_operations_total",
		"Operations on snapshots by this process, by operation and outcome.", snapshotOperationLabel(), snapshotOutcomeLabel())
	m.snapshotSeconds = m.counterVec("engramd_snapshot_seconds_total",
		"Time that operations on snapshots took.", snapshotOperationLabel())
	m.snapshotLast = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "engramd_snapshot_last_success_timestamp_seconds",
		Help: "When an operation on snapshots last went well in this process; absent if it never did.",
	}, []string{"operation"})
	m.registry.MustRegister(m.snapshotLast)
}

// SnapshotDone counts one operation on snapshots: "create", "scheduled",
// "verify", "repair", "rollback", "replace", "delete" or "gc", with its
// outcome: "ok", "unchanged" (nothing new to be kept), "invalid" (the bundle
// does not verify), "busy" (somebody else had the lock) or "failed".
func (m *Metrics) SnapshotDone(operation, outcome string, at time.Time, took time.Duration) {
	if m == nil {
		return
	}
	operation = snapshotOperationLabel().of(operation)
	m.snapshots.WithLabelValues(operation, snapshotOutcomeLabel().of(outcome)).Inc()
	m.snapshotSeconds.WithLabelValues(operation).Add(seconds(took))
	if outcome == "ok" || outcome == "unchanged" {
		m.snapshotLast.WithLabelValues(operation).Set(float64(at.Unix()))
	}
}
