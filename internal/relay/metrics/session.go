package metrics

// defineSession makes what websocket connections count.
func (m *Metrics) defineSession() {
	m.connections = m.gauge("engramd_connections", "Websocket connections that are open.")
	m.connectionsLimit = m.gauge("engramd_connections_limit", "Websocket connections that may be open at once.")
	m.connectionsTotal = m.counter("engramd_connections_total", "Websocket connections accepted.")
	m.connectionsRefused = m.counterVec("engramd_connections_refused_total",
		"Upgrades refused, by the bound that was reached.", refusedLabel())
	m.subscriptions = m.gauge("engramd_subscriptions", "Subscriptions that are open, over all connections.")
	m.subscriptionsClosed = m.counterVec("engramd_subscriptions_closed_total",
		"Open subscriptions that the relay closed, by reason.", closedLabel())
	m.frames = m.counterVec("engramd_frames_total", "Client frames read, by label.", frameLabel())
	m.framesRefused = m.counterVec("engramd_frames_refused_total",
		"Client frames answered with a refusal before any policy ran.", frameReasonLabel())
	m.readsPaused = m.counter("engramd_reads_paused_total",
		"Times a connection was not read from because it sent frames faster than its rate.")
	m.slowReaders = m.counterVec("engramd_slow_readers_cut_total",
		"Connections cut off because the client did not read.", slowLabel())
	m.auths = m.counterVec("engramd_auth_total", "AUTH messages, by outcome.", label{"outcome", []string{"ok", "refused"}})
	m.eventsSent = m.counterVec("engramd_events_sent_total",
		"Events sent to clients, stored ones and live ones.", label{"source", []string{"stored", "live"}})
}

// ConnectionOpened counts a websocket connection that was accepted.
func (m *Metrics) ConnectionOpened() {
	if m == nil {
		return
	}
	m.connections.Inc()
	m.connectionsTotal.Inc()
}

// ConnectionClosed takes one off the open connections; call it once for each
// ConnectionOpened.
func (m *Metrics) ConnectionClosed() {
	if m == nil {
		return
	}
	m.connections.Dec()
}

// SetConnectionsLimit says how many connections may be open at once.
func (m *Metrics) SetConnectionsLimit(n int) {
	if m == nil {
		return
	}
	m.connectionsLimit.Set(float64(n))
}

// ConnectionRefused counts an upgrade that was not accepted: "total",
// "address", "draining", "handshake" or "hook" (khatru's RejectConnection).
func (m *Metrics) ConnectionRefused(reason string) {
	if m == nil {
		return
	}
	m.connectionsRefused.WithLabelValues(refusedLabel().of(reason)).Inc()
}

// SubscriptionsAdd moves the number of open subscriptions by n, which is
// negative when they close.
func (m *Metrics) SubscriptionsAdd(n int) {
	if m == nil {
		return
	}
	m.subscriptions.Add(float64(n))
}

// SubscriptionClosed counts an open subscription that the relay closed:
// "behind" (events came faster than they could be held against its filters) or
// "filters" (it held memory for which others had little).
func (m *Metrics) SubscriptionClosed(reason string) {
	if m == nil {
		return
	}
	m.subscriptionsClosed.WithLabelValues(closedLabel().of(reason)).Inc()
}

// FrameRead counts one client frame: EVENT, REQ, COUNT, CLOSE, AUTH, NEG-OPEN,
// NEG-MSG, NEG-CLOSE; any other label is "other".
func (m *Metrics) FrameRead(label string) {
	if m == nil {
		return
	}
	m.frames.WithLabelValues(frameLabel().of(label)).Inc()
}

// FrameRefused counts a frame that was answered with a refusal before any
// policy ran: "invalid", "too_large", "subscriptions", "filters", "memory" or
// "syncs" (the bounds of reconciliations).
func (m *Metrics) FrameRefused(reason string) {
	if m == nil {
		return
	}
	m.framesRefused.WithLabelValues(frameReasonLabel().of(reason)).Inc()
}

// ReadPaused counts one pause of reading from a connection over its frame rate.
func (m *Metrics) ReadPaused() {
	if m == nil {
		return
	}
	m.readsPaused.Inc()
}

// SlowReaderCut counts a connection cut off because its client did not read:
// "stalled" (a write made no progress), "overflow" (live events overflowed its
// queue) "ping" (no sign of life) or "memory" (what it
// sent and had no answer yet held more than that of any other).
func (m *Metrics) SlowReaderCut(reason string) {
	if m == nil {
		return
	}
	m.slowReaders.WithLabelValues(slowLabel().of(reason)).Inc()
}

// AuthDone counts one AUTH message.
func (m *Metrics) AuthDone(ok bool) {
	if m == nil {
		return
	}
	m.auths.WithLabelValues(okOr(ok, "refused")).Inc()
}

// StoredSent counts n stored events written to clients.
func (m *Metrics) StoredSent(n int) {
	if m == nil {
		return
	}
	m.eventsSent.WithLabelValues("stored").Add(float64(n))
}

// LiveSent counts n live events queued for clients.
func (m *Metrics) LiveSent(n int) {
	if m == nil {
		return
	}
	m.eventsSent.WithLabelValues("live").Add(float64(n))
}
