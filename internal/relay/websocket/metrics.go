package websocket

import "time"

// Metrics is what sessions count; *metrics.Sessions is one.
type Metrics interface {
	ConnectionOpened()
	ConnectionClosed()
	ConnectionRefused(reason string)
	SubscriptionsAdd(n int)
	SubscriptionClosed(reason string)
	FrameRead(label string)
	FrameRefused(reason string)
	ReadPaused()
	SlowReaderCut(reason string)
	AuthDone(ok bool)
	StoredSent(n int)
	LiveSent(n int)
	QueueAdd(queue string, n int)
	SyncsAdd(n int, bytes int64)
	SyncEnded(reason string)
	SyncAnswered(took time.Duration)
}

// The queues whose depth is counted.
const (
	queueVerify = "verify"                // EVENTs waiting for the pool
	queueOut    = "connections_out_bytes" // bytes in all outboxes
)

// countQueued brings the gauge of queued bytes up to date.
func (s *Server) countQueued() {
	now := s.queued.Load()
	if was := s.queuedSeen.Swap(now); now != was {
		s.metrics.QueueAdd(queueOut, int(now-was))
	}
}
