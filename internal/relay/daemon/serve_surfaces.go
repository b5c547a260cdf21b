package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/http"
	"engramd/internal/relay/websocket"
	"engramd/internal/web"
)

// openSurfaces starts the sessions, the public port and the metrics port.
func (c *process) openSurfaces() {
	c.sessions = websocket.New(c.relay, websocket.Options{
		Limits: sessionLimits(c.cfg), Compression: c.cfg.Compression, EOSEHints: c.cfg.Req.EOSEHints,
		Addr:   func(r *http.Request) netip.Addr { return relay.AddrFrom(r.Context()) }, // the bridge resolved it
		Shares: c.shares, Pressed: c.memory.Pressed, Metrics: c.metrics.Sessions, Log: c.log,
		Tags: c.tags, Access: c.cfg.Log.Access,
		Replica: func(r gate.Reader) bool { return c.relay.Table().Replicates(r) }, Waits: c.latest != nil,
	})
	c.blocked.watch(c.sessions.SetBlocked)
	c.bridge = relayhttp.New(relayhttp.Options{
		Relay: c.relay, Socket: c.sessions, URLs: c.urls(), Proxy: proxyOf(c.cfg), Pending: pendingLimits(c.cfg),
		Backend: relayhttp.Over(c.relay), Names: c.relay.Names(), Clock: c.now, HTTPWindow: c.cfg.Auth.HTTPWindow, Limits: bridgeLimits(c.cfg),
		Management: c.admin, Used: c.used, UsedElsewhere: c.usedElsewhere(), API: c.api, Web: c.web(), Shares: c.shares, Pressed: c.memory.Pressed,
		Log: c.log, Metrics: c.metrics, Tags: c.tags, Access: c.cfg.Log.Access,
	})
	c.metrics.WatchReady(func() bool { return c.bridge.Ready(context.Background()) == nil })
	c.serveHTTP(relayhttp.NewServer(c.bridge, c.cfg.Timeouts.Handshake, c.log), c.listener)
	if c.scrape != nil {
		c.serveHTTP(c.metrics.Server(c.cfg.MetricsPprof), c.scrape)
	}
}

func (c *process) serveHTTP(srv *http.Server, l net.Listener) {
	c.servers = append(c.servers, srv)
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	}()
}

// urls returns the addresses that the relay's page tells people.
func (c *process) urls() []string {
	if len(c.cfg.PublicURL) > 0 {
		return c.cfg.PublicURL
	}
	return []string{"ws://" + c.listener.Addr().String()}
}

// web returns the owner's page, nil if it is not to be served.
func (c *process) web() relayhttp.Web {
	if !c.cfg.Web.Enabled {
		return nil
	}
	return web.New(c.urls(), c.Version)
}
