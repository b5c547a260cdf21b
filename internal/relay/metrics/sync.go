package metrics

import "time"

// SyncsAdd moves the number of open reconciliations, and the memory of their
// events in bytes; both are negative when they end.
func (s *Sessions) SyncsAdd(n int, bytes int64) {
	if s == nil {
		return
	}
	s.syncs.Add(float64(n))
	s.syncBytes.Add(float64(bytes))
}

// SyncEnded counts the end of a reconciliation: "closed" by the client,
// "replaced" by another one of the same id, "idle", "memory" (others needed it),
// "refused" (a message was none) or "gone" with its connection.
func (s *Sessions) SyncEnded(reason string) {
	if s != nil {
		s.syncEnds.WithLabelValues(syncEndLabel.of(reason)).Inc()
	}
}

// SyncAnswered counts one message of a reconciliation.
func (s *Sessions) SyncAnswered(took time.Duration) {
	if s != nil {
		s.syncSeconds.Observe(seconds(took))
	}
}
