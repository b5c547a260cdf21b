package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Sessions is what websocket connections count, and reconciliations on them.
type Sessions struct {
	connections         prometheus.Gauge
	connectionsLimit    prometheus.Gauge
	connectionsTotal    prometheus.Counter
	connectionsRefused  *prometheus.CounterVec
	subscriptions       prometheus.Gauge
	subscriptionsClosed *prometheus.CounterVec
	frames              *prometheus.CounterVec
	framesRefused       *prometheus.CounterVec
	readsPaused         prometheus.Counter
	slowReaders         *prometheus.CounterVec
	auths               *prometheus.CounterVec
	eventsSent          *prometheus.CounterVec
	queues              *prometheus.GaugeVec // of the store too
	syncs               prometheus.Gauge
	syncBytes           prometheus.Gauge
	syncEnds            *prometheus.CounterVec
	syncSeconds         prometheus.Histogram
}

func newSessions(r registry, queues *prometheus.GaugeVec) *Sessions {
	return &Sessions{
		connections:      r.gauge("engramd_connections", "Websocket connections that are open."),
		connectionsLimit: r.gauge("engramd_connections_limit", "Websocket connections that may be open at once."),
		connectionsTotal: r.counter("engramd_connections_total", "Websocket connections accepted."),
		connectionsRefused: r.counterVec("engramd_connections_refused_total",
			"Upgrades refused, by the bound that was reached.", refusedLabel),
		subscriptions: r.gauge("engramd_subscriptions", "Subscriptions that are open, over all connections."),
		subscriptionsClosed: r.counterVec("engramd_subscriptions_closed_total",
			"Open subscriptions that the relay closed, by reason.", closedLabel),
		frames: r.counterVec("engramd_frames_total", "Client frames read, by label.", frameLabel),
		framesRefused: r.counterVec("engramd_frames_refused_total",
			"Client frames answered with a refusal before any policy ran.", frameReasonLabel),
		readsPaused: r.counter("engramd_reads_paused_total",
			"Times a connection was not read from because it sent frames faster than its rate."),
		slowReaders: r.counterVec("engramd_slow_readers_cut_total",
			"Connections cut off because the client did not read.", slowLabel),
		auths: r.counterVec("engramd_auth_total", "AUTH messages, by outcome.", label{"outcome", []string{"ok", "refused"}}),
		eventsSent: r.counterVec("engramd_events_sent_total",
			"Events sent to clients, stored ones and live ones.", label{"source", []string{"stored", "live"}}),
		queues:    queues,
		syncs:     r.gauge("engramd_syncs", "Reconciliations (NIP-77) that are open, over all connections."),
		syncBytes: r.gauge("engramd_sync_bytes", "Memory that the events of open reconciliations take."),
		syncEnds:  r.counterVec("engramd_syncs_ended_total", "Reconciliations that ended, by reason.", syncEndLabel),
		syncSeconds: r.histogram("engramd_sync_message_seconds",
			"Time that the answer to one message of a reconciliation took, its turn and the reading of events not included.",
			prometheus.ExponentialBuckets(.0001, 4, 7)),
	}
}

// ConnectionOpened counts a websocket connection that was accepted.
func (s *Sessions) ConnectionOpened() {
	if s == nil {
		return
	}
	s.connections.Inc()
	s.connectionsTotal.Inc()
}

// ConnectionClosed takes one off the open connections; call it once for each
// ConnectionOpened.
func (s *Sessions) ConnectionClosed() {
	if s != nil {
		s.connections.Dec()
	}
}

// SetConnectionsLimit says how many connections may be open at once.
func (s *Sessions) SetConnectionsLimit(n int) {
	if s != nil {
		s.connectionsLimit.Set(float64(n))
	}
}

// ConnectionRefused counts an upgrade that was not accepted: "total",
// "address", "draining", "handshake" or "hook" (khatru's RejectConnection).
func (s *Sessions) ConnectionRefused(reason string) {
	if s != nil {
		s.connectionsRefused.WithLabelValues(refusedLabel.of(reason)).Inc()
	}
}

// QueueAdd moves the depth of a queue by n, as Store.QueueAdd does.
func (s *Sessions) QueueAdd(queue string, n int) {
	if s != nil {
		s.queues.WithLabelValues(queueLabel.of(queue)).Add(float64(n))
	}
}

// SubscriptionsAdd moves the number of open subscriptions by n, which is
// negative when they close.
func (s *Sessions) SubscriptionsAdd(n int) {
	if s != nil {
		s.subscriptions.Add(float64(n))
	}
}

// SubscriptionClosed counts an open subscription that the relay closed:
// "behind" (events came faster than they could be held against its filters) or
// "filters" (it held memory for which others had little).
func (s *Sessions) SubscriptionClosed(reason string) {
	if s != nil {
		s.subscriptionsClosed.WithLabelValues(closedLabel.of(reason)).Inc()
	}
}

// FrameRead counts one client frame: EVENT, REQ, COUNT, CLOSE, AUTH, NEG-OPEN,
// NEG-MSG, NEG-CLOSE; any other label is "other".
func (s *Sessions) FrameRead(label string) {
	if s != nil {
		s.frames.WithLabelValues(frameLabel.of(label)).Inc()
	}
}

// FrameRefused counts a frame that was answered with a refusal before any
// policy ran: "invalid", "too_large", "subscriptions", "filters", "memory" or
// "syncs" (the bounds of reconciliations).
func (s *Sessions) FrameRefused(reason string) {
	if s != nil {
		s.framesRefused.WithLabelValues(frameReasonLabel.of(reason)).Inc()
	}
}

// ReadPaused counts one pause of reading from a connection over its frame rate.
func (s *Sessions) ReadPaused() {
	if s != nil {
		s.readsPaused.Inc()
	}
}

// SlowReaderCut counts a connection cut off because its client did not read:
// "stalled" (a write made no progress), "overflow" (live events overflowed its
// queue) "ping" (no sign of life) or "memory" (what it
// sent and had no answer yet held more than that of any other).
func (s *Sessions) SlowReaderCut(reason string) {
	if s != nil {
		s.slowReaders.WithLabelValues(slowLabel.of(reason)).Inc()
	}
}

// AuthDone counts one AUTH message.
func (s *Sessions) AuthDone(ok bool) {
	if s != nil {
		s.auths.WithLabelValues(okOr(ok, "refused")).Inc()
	}
}

// StoredSent counts n stored events written to clients.
func (s *Sessions) StoredSent(n int) {
	if s != nil {
		s.eventsSent.WithLabelValues("stored").Add(float64(n))
	}
}

// LiveSent counts n live events queued for clients.
func (s *Sessions) LiveSent(n int) {
	if s != nil {
		s.eventsSent.WithLabelValues("live").Add(float64(n))
	}
}

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
		s.syncSeconds.Observe(took.Seconds())
	}
}
