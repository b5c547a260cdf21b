package relayhttp

import (
	"cmp"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/metrics"
)

// pending counts connections that are not websockets (yet), silent ones and those
// that send HTTP requests, so that a flood of silent ones leaves files
// and memory for everybody else: no share has more connections than it leaves
// for others. A connection over a bound is closed at once.
type pending struct {
	limits  *atomic.Pointer[Limits]
	exempt  func(netip.Addr) bool
	metrics *metrics.Sessions
	log     *slog.Logger

	mu     sync.Mutex
	total  int
	from   map[string]int
	shares map[string]int
	conns  map[net.Conn]origin
}

// origin is where a connection comes from: what counts as one address, and the
// share that it is in.
type origin struct{ network, share string }

func originOf(addr netip.Addr) origin {
	share, part := fairness.OfAddr(addr)
	return origin{cmp.Or(part, share), share}
}

func newPending(l *atomic.Pointer[Limits], exempt func(netip.Addr) bool, m *metrics.Sessions, log *slog.Logger) *pending {
	return &pending{limits: l, exempt: exempt, metrics: m, log: log, from: map[string]int{}, shares: map[string]int{}, conns: map[net.Conn]origin{}}
}

// connState is the http.Server's ConnState hook.
func (p *pending) connState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if reason := p.enter(conn); reason != "" {
			p.metrics.ConnectionRefused(reason)
			p.log.Debug("connection refused", "addr", parseAddr(conn.RemoteAddr().String()), "reason", "too many that are no websockets: "+reason)
			_ = conn.Close() // the server sees it and says StateClosed
		}
	case http.StateHijacked, http.StateClosed:
		p.leave(conn)
	}
}

// enter counts a connection and returns the bound that it exceeds, if any.
func (p *pending) enter(conn net.Conn) (reason string) {
	limits := p.limits.Load()
	addr := parseAddr(conn.RemoteAddr().String())
	of := originOf(addr)
	free := p.exempt(addr)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[conn] = of
	p.total++
	p.from[of.network]++
	p.shares[of.share]++
	switch {
	case limits.Connections > 0 && p.total > limits.Connections:
		return "total"
	case limits.PerAddress > 0 && p.from[of.network] > limits.PerAddress && !free:
		return "address"
	case limits.Connections > 0 && p.shares[of.share] > limits.Connections-p.total && !free:
		return "address"
	}
	return ""
}

func (p *pending) leave(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of, ok := p.conns[conn]
	if !ok {
		return
	}
	delete(p.conns, conn)
	p.total--
	if p.from[of.network]--; p.from[of.network] == 0 {
		delete(p.from, of.network)
	}
	if p.shares[of.share]--; p.shares[of.share] == 0 {
		delete(p.shares, of.share)
	}
}
