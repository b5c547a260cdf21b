package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func syncEndLabel() label {
	return label{"reason", []string{"closed", "replaced", "idle", "memory", "refused", "gone", "rules", other}}
}

// defineSync makes what reconciliations (NIP-77) count.
func (m *Metrics) defineSync() {
	m.syncs = m.gauge("engramd_syncs", "Reconciliations (NIP-77) that are open, over all connections.")
	m.syncBytes = m.gauge("engramd_sync_bytes", "Memory that the events of open reconciliations take.")
	m.syncEnds = m.counterVec("engramd_syncs_ended_total", "Reconciliations that ended, by reason.", syncEndLabel())
	m.syncSeconds = m.histogram("engramd_sync_message_seconds",
		"Time that the answer to one message of a reconciliation took, its turn and the reading of events not included.",
		prometheus.ExponentialBuckets(.0001, 4, 7))
}

// SyncsAdd moves the number of open reconciliations, and the memory of their
// events in bytes; both are negative when they end.
func (m *Metrics) SyncsAdd(n int, bytes int64) {
	if m == nil {
		return
	}
	m.syncs.Add(float64(n))
	m.syncBytes.Add(float64(bytes))
}

// SyncEnded counts the end of a reconciliation: "closed" by the client,
// "replaced" by another one of the same id, "idle", "memory" (others needed it),
// "refused" (a message was none) or "gone" with its connection.
func (m *Metrics) SyncEnded(reason string) {
	if m == nil {
		return
	}
	m.syncEnds.WithLabelValues(syncEndLabel().of(reason)).Inc()
}

// SyncAnswered counts one message of a reconciliation.
func (m *Metrics) SyncAnswered(took time.Duration) {
	if m == nil {
		return
	}
	m.syncSeconds.Observe(seconds(took))
}
