package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Sessions is what websocket connections count, and reconciliations on them.
type Sessions struct {
	ConnectionOpened    func()
	ConnectionClosed    func()              // once for each ConnectionOpened
	SetConnectionsLimit func(n int)         // how many may be open at once
	ConnectionRefused   func(reason string) // "total", "address", "draining", "handshake" or "hook" (khatru's RejectConnection)
	// QueueAdd moves the depth of a queue by n, as Store.QueueAdd does.
	QueueAdd         func(queue string, n int)
	SubscriptionsAdd func(n int) // negative when they close
	// SubscriptionClosed counts an open subscription that the relay closed:
	// "behind" (events came faster than they could be held against its filters) or
	// "filters" (it held memory for which others had little).
	SubscriptionClosed func(reason string)
	FrameRead          func(label string) // of a client's frame, such as EVENT
	// FrameRefused counts a frame that was answered with a refusal before any
	// policy ran: "invalid", "too_large", "subscriptions", "filters", "memory" or
	// "syncs" (the bounds of reconciliations).
	FrameRefused func(reason string)
	ReadPaused   func() // a connection over its frame rate is not read from
	// SlowReaderCut counts a connection cut off because its client did not read:
	// "stalled" (a write made no progress), "overflow" (live events overflowed its
	// queue) "ping" (no sign of life) or "memory" (what it
	// sent and had no answer yet held more than that of any other).
	SlowReaderCut func(reason string)
	AuthDone      func(ok bool) // one AUTH message
	StoredSent    func(n int)   // stored events written to clients
	LiveSent      func(n int)   // live events queued for clients
	// SyncsAdd moves the number of open reconciliations, and the memory of their
	// events in bytes; both are negative when they end.
	SyncsAdd func(n int, bytes int64)
	// SyncEnded counts the end of a reconciliation: "closed" by the client,
	// "replaced" by another one of the same id, "idle", "memory" (others needed it),
	// "refused" (a message was none) or "gone" with its connection.
	SyncEnded    func(reason string)
	SyncAnswered func(took time.Duration) // one message of a reconciliation
}

func newSessions(r registry, queueAdd func(string, int)) *Sessions {
	open := r.gauge("engramd_connections", "Websocket connections that are open.")
	opened := r.counter("engramd_connections_total", "Websocket connections accepted.")
	sent := r.counterVec("engramd_events_sent_total", "Events sent to clients, stored ones and live ones.", label{"source", []string{"stored", "live"}})
	syncs := r.gauge("engramd_syncs", "Reconciliations (NIP-77) that are open, over all connections.")
	syncBytes := r.gauge("engramd_sync_bytes", "Memory that the events of open reconciliations take.")
	limit := r.gauge("engramd_connections_limit", "Websocket connections that may be open at once.")
	answers := r.histogram("engramd_sync_message_seconds",
		"Time that the answer to one message of a reconciliation took, its turn and the reading of events not included.",
		prometheus.ExponentialBuckets(.0001, 4, 7))
	return &Sessions{
		ConnectionOpened: func() {
			open.Inc()
			opened.Inc()
		},
		ConnectionClosed:    open.Dec,
		SetConnectionsLimit: func(n int) { limit.Set(float64(n)) },
		ConnectionRefused:   r.count("engramd_connections_refused_total", "Upgrades refused, by the bound that was reached.", refusedLabel),
		QueueAdd:            queueAdd,
		SubscriptionsAdd:    adding(r.gauge("engramd_subscriptions", "Subscriptions that are open, over all connections.")),
		SubscriptionClosed:  r.count("engramd_subscriptions_closed_total", "Open subscriptions that the relay closed, by reason.", closedLabel),
		FrameRead:           r.count("engramd_frames_total", "Client frames read, by label.", frameLabel),
		FrameRefused:        r.count("engramd_frames_refused_total", "Client frames answered with a refusal before any policy ran.", frameReasonLabel),
		ReadPaused:          r.counter("engramd_reads_paused_total", "Times a connection was not read from because it sent frames faster than its rate.").Inc,
		SlowReaderCut:       r.count("engramd_slow_readers_cut_total", "Connections cut off because the client did not read.", slowLabel),
		AuthDone:            r.okOrRefused("engramd_auth_total", "AUTH messages, by outcome."),
		StoredSent:          adding(sent.WithLabelValues("stored")),
		LiveSent:            adding(sent.WithLabelValues("live")),
		SyncsAdd: func(n int, bytes int64) {
			syncs.Add(float64(n))
			syncBytes.Add(float64(bytes))
		},
		SyncEnded:    r.count("engramd_syncs_ended_total", "Reconciliations that ended, by reason.", syncEndLabel),
		SyncAnswered: func(took time.Duration) { answers.Observe(took.Seconds()) },
	}
}
