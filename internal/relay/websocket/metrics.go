package websocket

import (
	"time"

	"engramd/internal/relay/metrics"
)

// Metrics is what sessions count; *metrics.Metrics is one.
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

var _ Metrics = (*metrics.Metrics)(nil)

// noMetrics counts nothing.
type noMetrics struct{}

func (noMetrics) ConnectionOpened()          {}
func (noMetrics) ConnectionClosed()          {}
func (noMetrics) ConnectionRefused(string)   {}
func (noMetrics) SubscriptionsAdd(int)       {}
func (noMetrics) SubscriptionClosed(string)  {}
func (noMetrics) FrameRead(string)           {}
func (noMetrics) FrameRefused(string)        {}
func (noMetrics) ReadPaused()                {}
func (noMetrics) SlowReaderCut(string)       {}
func (noMetrics) AuthDone(bool)              {}
func (noMetrics) StoredSent(int)             {}
func (noMetrics) LiveSent(int)               {}
func (noMetrics) QueueAdd(string, int)       {}
func (noMetrics) SyncsAdd(int, int64)        {}
func (noMetrics) SyncEnded(string)           {}
func (noMetrics) SyncAnswered(time.Duration) {}

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
