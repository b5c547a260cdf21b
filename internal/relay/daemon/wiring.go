package daemon

import (
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

func relayLimits(cfg *config.Config) relay.Limits {
	return relay.Limits{DefaultLimit: cfg.Bounds().DefaultLimit, MaxLimit: cfg.Limits.MaxLimit}
}

// subIDBytes is the longest subscription id (NIP-01).
const subIDBytes = 64

func relayInfo(cfg *config.Config, version string) relay.Info {
	w := cfg.Write
	info := relay.Info{HistoryVersions: cfg.History.Versions, HistoryDays: cfg.History.Days, Document: nip11.RelayInformationDocument{
		Name: cfg.Info.Name, Description: cfg.Info.Description, PubKey: cfg.Info.Pubkey, Contact: cfg.Info.Contact, Icon: cfg.Info.Icon, Version: version,
		Limitation: &nip11.RelayLimitationDocument{
			MaxMessageLength: cfg.Limits.MessageBytes, MaxSubscriptions: cfg.Limits.Subscriptions, MaxSubidLength: subIDBytes,
			MaxEventTags:        config.EventTags,
			CreatedAtUpperLimit: int64(cfg.Limits.Future / time.Second),
			RestrictedWrites:    len(w.Authors)+len(w.Owners)+len(w.Kinds)+len(w.Program) > 0,
		},
	}}
	if cfg.Sync.Serve {
		info.Further = append(info.Further, 77)
	}
	if len(cfg.Admin.Keys) > 0 {
		info.Further = append(info.Further, 86)
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

// bridgeLimits bound connections before their upgrade as websockets are bounded,
// counted apart, and signed HTTP requests; an event may be as large as a message,
// and never larger than the largest body.
func bridgeLimits(b config.Bounds) relayhttp.Limits {
	return relayhttp.Limits{
		Connections: b.Connections, PerAddress: b.PerAddress,
		Requests: b.HTTPRequests, PerShare: b.HTTPPerShare, EventBytes: b.MessageBytes, Stall: b.Stall,
	}
}
