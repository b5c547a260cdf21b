package daemon

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/nbd-wtf/go-nostr/nip11"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	relayhttp "engramd/internal/relay/http"
	"engramd/internal/relay/logging"
	"engramd/internal/relay/logging/redact"
	"engramd/internal/relay/retention"
	"engramd/internal/relay/store"
	"engramd/internal/relay/websocket"
)

// This file translates the configuration into what each package takes.

func newLogger(w io.Writer, cfg *config.Config, level *slog.LevelVar) *slog.Logger {
	setLevel(level, cfg)
	o := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if cfg.Log.Format == "json" {
		h = slog.NewJSONHandler(w, o)
	}
	return slog.New(logging.New(redact.Limit(h, linesPerSecond, linesAtOnce), logging.Options{
		About: func(err error) bool { return errors.Is(err, store.ErrFull) },
		Every: time.Minute, Text: "there is no room: more was not stored",
	}))
}

// Lines that clients can make the daemon log, at level debug and in the access
// log: some 100 KB a second at most.
const (
	linesPerSecond = 500
	linesAtOnce    = 5000
)

func setLevel(level *slog.LevelVar, cfg *config.Config) {
	// The words of log.level are slog's own, so this cannot fail.
	_ = level.UnmarshalText([]byte(cfg.Log.Level))
}

func sessionLimits(cfg *config.Config) websocket.Limits {
	l, t := cfg.Limits, cfg.Timeouts
	return websocket.Limits{
		Connections: l.Connections, PerAddress: offToNegative(l.ConnectionsPerAddress),
		MessageBytes: l.MessageBytes, Subscriptions: l.Subscriptions, Filters: l.Filters, FilterValues: l.FilterValues,
		LiveBytes: l.LiveBytes, LiveShare: l.LiveBytesPerShare, LiveTotal: l.LiveBytesTotal, Keys: l.Keys, FramesBurst: l.FramesBurst, FramesRate: l.FramesRate,
		WaitingFrames: l.WaitingFrames, WaitingBytes: l.WaitingBytes, WaitingShare: l.WaitingBytesPerShare, WaitingTotal: l.WaitingBytesTotal,
		QueueMark: l.QueueMark, QueueBytes: l.QueueBytes, QueueFrames: l.QueueFrames, QueueShare: l.QueueShare, QueueTotal: l.QueueTotal,
		Sync: websocket.SyncLimits{
			Off: !cfg.Sync.Serve, Sessions: cfg.Sync.PerConnection, Items: cfg.Sync.Events, ReplicaItems: cfg.Sync.ReplicaEvents,
			Share: cfg.Sync.BytesPerShare, Total: cfg.Sync.BytesTotal, Idle: cfg.Sync.Idle,
		},
		PingEvery: t.Ping, Silence: t.Silence, Stall: t.WriteStall, Handshake: t.Handshake,
	}
}

// offToNegative: zero is "off" in the configuration and "default" in the
// packages, where negative is off.
func offToNegative(n int) int { return cmp.Or(n, -1) }

func relayLimits(cfg *config.Config) relay.Limits {
	return relay.Limits{DefaultLimit: cfg.Limits.DefaultLimit, MaxLimit: cfg.Limits.MaxLimit}
}

// subIDBytes is the longest subscription id (NIP-01).
const subIDBytes = 64

func relayInfo(cfg *config.Config, version string) relay.Info {
	w := cfg.Write
	info := relay.Info{HistoryVersions: cfg.History.Versions, HistoryDays: cfg.History.Days, Document: nip11.RelayInformationDocument{
		Name: cfg.Info.Name, Description: cfg.Info.Description, PubKey: cfg.Info.Pubkey, Contact: cfg.Info.Contact, Icon: cfg.Info.Icon, Version: version,
		Limitation: &nip11.RelayLimitationDocument{
			MaxMessageLength: cfg.Limits.MessageBytes, MaxSubscriptions: cfg.Limits.Subscriptions, MaxSubidLength: subIDBytes,
			MaxEventTags:        cfg.Limits.EventTags,
			CreatedAtUpperLimit: int64(cfg.Limits.Future / time.Second),
			RestrictedWrites:    len(w.Authors)+len(w.Owners)+len(w.Kinds)+len(w.Program) > 0,
		},
	}}
	for nip, on := range map[int]bool{67: cfg.Req.EOSEHints, 77: cfg.Sync.Serve, 86: len(cfg.Admin.Keys) > 0} {
		if on {
			info.Further = append(info.Further, nip)
		}
	}
	rules, _ := wiring.Retention(cfg) // compiles has looked at them
	for _, rule := range rules {
		info.Document.Retention = append(info.Document.Retention, retentionDocument(rule))
	}
	return info
}

// retentionDocument returns a rule as NIP-11 has it. Kinds are always named:
// what a rule does not touch is not in it.
func retentionDocument(rule retention.Rule) *nip11.RelayRetentionDocument {
	doc := &nip11.RelayRetentionDocument{Time: int64(rule.Age / time.Second), Count: int(rule.Count)}
	for _, kinds := range rule.Kinds {
		doc.Kinds = append(doc.Kinds, []int{kinds.From, kinds.To})
	}
	return doc
}

func proxyOf(cfg *config.Config) relayhttp.Proxy {
	return relayhttp.Proxy{Trusted: cfg.Proxy.Trusted, Header: cfg.Proxy.Header}
}

// pendingLimits gives connections before their upgrade the same bounds as
// websockets, counted apart.
func pendingLimits(cfg *config.Config) relayhttp.PendingLimits {
	return relayhttp.PendingLimits{Total: cfg.Limits.Connections, PerAddress: cfg.Limits.ConnectionsPerAddress}
}

// bridgeLimits bound signed HTTP requests; an event may be as large as a
// message, and never larger than the largest body.
func bridgeLimits(cfg *config.Config) relayhttp.Limits {
	l := cfg.Limits
	return relayhttp.Limits{
		Requests: l.HTTPRequests, PerShare: offToNegative(l.HTTPPerAddress), EventBytes: l.MessageBytes,
		Filters: l.Filters, FilterValues: l.FilterValues, Stall: cfg.Timeouts.WriteStall,
	}
}
