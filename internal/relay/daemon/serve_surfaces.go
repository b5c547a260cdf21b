package daemon

import (
	"context"
	"net/http"
	"net/netip"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	relayhttp "engramd/internal/relay/http"
	"engramd/internal/relay/logging/redact"
	"engramd/internal/relay/websocket"
	"engramd/internal/web"
)

// surfaces are what clients talk to.
type surfaces struct {
	tags     *redact.Tags // how keys are named in the log and in `engramd status`
	sessions *websocket.Server
	bridge   *relayhttp.Handler
}

// openSurfaces starts the sessions, the public port and the metrics port.
func (p *process) openSurfaces() {
	s, cfg := &p.surfaces, p.cfg
	s.sessions = websocket.New(p.relay, websocket.Options{
		Limits: sessionLimits(cfg), Compression: cfg.Compression, EOSEHints: cfg.Req.EOSEHints,
		Addr:   func(r *http.Request) netip.Addr { return relay.AddrFrom(r.Context()) }, // the bridge resolved it
		Shares: p.shares.all, Pressed: p.memory.Pressed, Metrics: p.metrics.Sessions, Log: p.log,
		Tags: s.tags, Access: cfg.Log.Access,
		Replica: func(r gate.Reader) bool { return p.relay.Table().Replicates(r) }, Waits: p.member.latest != nil,
	})
	p.rules.blocked.watch(s.sessions.SetBlocked)
	var page relayhttp.Web // the owner's; nil if it is not to be served
	if cfg.Web.Enabled {
		page = web.New(p.ports.urls(cfg), p.version)
	}
	s.bridge = relayhttp.New(relayhttp.Options{
		Relay: p.relay, Socket: s.sessions, URLs: p.ports.urls(cfg), Proxy: proxyOf(cfg), Pending: pendingLimits(cfg),
		Backend: relayhttp.Over(p.relay), Names: p.relay.Names(), Clock: p.member.now, HTTPWindow: cfg.Auth.HTTPWindow, Limits: bridgeLimits(cfg),
		Management: p.rules.admin, Used: p.rules.used, UsedElsewhere: p.contracts.usedElsewhere(), API: p.contracts.api, Web: page, Shares: p.shares.all, Pressed: p.memory.Pressed,
		Log: p.log, Metrics: p.metrics, Tags: s.tags, Access: cfg.Log.Access,
	})
	p.metrics.WatchReady(func() bool { return s.bridge.Ready(context.Background()) == nil })
	p.ports.serve(relayhttp.NewServer(s.bridge, cfg.Timeouts.Handshake, p.log), p.ports.public, p.failed)
	if p.ports.scrape != nil {
		p.ports.serve(p.metrics.Server(cfg.MetricsPprof), p.ports.scrape, p.failed)
	}
}
