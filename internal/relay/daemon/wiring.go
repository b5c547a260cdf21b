package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/http"
	"engramd/internal/relay/logging"
	"engramd/internal/relay/logging/redact"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/retention"
	"engramd/internal/relay/store"
	"engramd/internal/relay/websocket"
)

// This file translates the configuration into what each package takes.

// private makes every file of this process readable by its user only, SQLite's
// temporary ones included.
func private() { syscall.Umask(0o077) }

// collectLess lets the heap grow to three times what lives before it is
// collected, unless GOGC is set. A relay's heap is small, and signatures need
// the processor: publishing is 4 % faster for some 20 MB (docs/benchmarks.md).
func collectLess(env []string) { collectAt(env, 200) }

// collectMore is for commands that hold an index of many events: half the heap
// for some processor time.
func collectMore(env []string) { collectAt(env, 50) }

func collectAt(env []string, percent int) {
	if !isSet(env, "GOGC") {
		debug.SetGCPercent(percent)
	}
}

func isSet(env []string, name string) bool {
	return slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

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

// newTable compiles the read gate; what is wrong is a mistake in the
// configuration.
func newTable(cfg *config.Config) (*gate.Table, error) {
	t, err := gate.NewTable(gate.Options{
		Wildcard: cfg.Gate.Wildcard, IDs: cfg.Gate.IDs, Contracts: cfg.Gate.Contracts, Rules: cfg.Gate.Rules, Replicas: cfg.Gate.Replicas,
		AuthRequired: cfg.Read.AuthRequired,
	})
	if err != nil {
		return nil, usage(err)
	}
	return t, nil
}

func policyOptions(cfg *config.Config, names relay.Names, approved func(ctx context.Context, owners []string, agent string) (bool, error)) policy.Options {
	return policy.Options{
		Authors: cfg.Write.Authors, Owners: cfg.Write.Owners, Kinds: cfg.Write.Kinds,
		BannedAuthors: cfg.Write.BanAuthors, BannedKinds: cfg.Write.BanKinds,
		MaxTags: cfg.Limits.EventTags, Future: cfg.Limits.Future,
		Rates: policy.Rates{
			Key:   fairness.Rate{PerSecond: cfg.Limits.EventsPerKey, Burst: cfg.Limits.EventsPerKeyBurst},
			Share: fairness.Rate{PerSecond: cfg.Limits.EventsPerAddress, Burst: cfg.Limits.EventsPerAddressBurst},
			Rows:  fairness.Rate{PerSecond: cfg.Limits.IndexRows, Burst: cfg.Limits.IndexRowsBurst},
		},
		RelayNames: names,
		Reader:     relay.ReaderFrom, Attested: relay.AttestationsFrom, Approved: approved,
	}
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

func storeLive(cfg *config.Config) store.Live {
	return store.Live{
		Versions: cmp.Or(cfg.History.Versions, -1), Days: cmp.Or(cfg.History.Days, -1), ContractDays: cfg.History.ContractDays,
		MaxBytes: cfg.Store.MaxBytes, QueryTimeout: cfg.Limits.QueryTimeout, StrictIDs: !cfg.Contracts.AnyID,
		Quota: store.Quota{
			Events: cfg.Limits.AuthorEvents, DefaultEvents: !cfg.Said("limits.author_events"),
			Bytes: cfg.Limits.AuthorBytes, DefaultBytes: !cfg.Said("limits.author_bytes"),
		},
	}
}

// retentionRules reads retention.rules.
func retentionRules(cfg *config.Config) ([]retention.Rule, error) {
	rules, err := retention.Parse(cfg.Retention.Rules)
	if err != nil {
		return nil, usage(fmt.Errorf("retention.rules: %w", err))
	}
	return rules, nil
}

// daemonLive is storeLive with what the daemon alone does.
func daemonLive(cfg *config.Config) (store.Live, error) {
	live := storeLive(cfg)
	var err error
	live.Retention, err = retentionRules(cfg)
	return live, err
}

func relayLimits(cfg *config.Config) relay.Limits {
	return relay.Limits{DefaultLimit: cfg.Limits.DefaultLimit, MaxLimit: cfg.Limits.MaxLimit}
}

// subIDBytes is the longest subscription id (NIP-01).
const subIDBytes = 64

func relayInfo(cfg *config.Config, version string) relay.Info {
	w := cfg.Write
	rules, _ := retentionRules(cfg) // compiles has looked at them
	return relay.Info{
		Name: cfg.Info.Name, Description: cfg.Info.Description, PubKey: cfg.Info.Pubkey, Contact: cfg.Info.Contact, Icon: cfg.Info.Icon,
		Version: version, MessageBytes: cfg.Limits.MessageBytes, Subscriptions: cfg.Limits.Subscriptions, SubIDBytes: subIDBytes,
		EventTags:        cfg.Limits.EventTags,
		FutureSeconds:    int64(cfg.Limits.Future / time.Second),
		RestrictedWrites: len(w.Authors)+len(w.Owners)+len(w.Kinds)+len(w.Program) > 0,
		EOSEHints:        cfg.Req.EOSEHints,
		Management:       len(cfg.Admin.Keys) > 0,
		Sync:             cfg.Sync.Serve,
		Retention:        rules,
		HistoryVersions:  cfg.History.Versions, HistoryDays: cfg.History.Days,
	}
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

// listening returns the address a listener really has.
func listening(l net.Listener) netip.AddrPort {
	ap, _ := netip.ParseAddrPort(l.Addr().String()) // a TCP listener's address always is one
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
