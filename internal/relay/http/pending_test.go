package relayhttp

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/metrics"
)

// remote is a connection from somewhere.
type remote struct {
	net.Conn
	addr   string
	closed bool
}

func (r *remote) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(r.addr))
}
func (r *remote) Close() error { r.closed = true; return nil }

func TestPendingConnectionsAreBounded(t *testing.T) {
	h, _ := newHandler(t, func(_ *fakeRelay, o *Options) {
		o.Limits = Limits{Connections: 8, PerAddress: 2}
		o.Proxy = Proxy{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Header: "X-Forwarded-For"}
	})
	state := h.pending.connState
	open := func(addr string) *remote {
		r := &remote{addr: addr}
		state(r, http.StateNew)
		if r.closed { // as the server does
			state(r, http.StateClosed)
		}
		return r
	}
	want := func(addr string, refused bool) *remote {
		t.Helper()
		r := open(addr)
		if r.closed != refused {
			t.Errorf("%s: refused %v, want %v", addr, r.closed, refused)
		}
		return r
	}
	first := want("203.0.113.1:1", false)
	want("203.0.113.1:2", false)
	want("203.0.113.1:3", true)
	want("[2001:db8::1]:1", false)
	want("[2001:db8::2]:1", false)
	want("[2001:db8::ffff]:1", true) // the same /64
	state(first, http.StateActive)
	state(first, http.StateHijacked) // a websocket now: the session counts it
	state(first, http.StateClosed)   // not counted twice
	want("203.0.113.1:4", false)
	for i := range 3 {
		want("10.0.0.1:"+string(rune('1'+i)), false) // trusted proxy
	}
	want("127.0.0.1:1", false) // loopback; the total of 8 is reached
	want("198.51.100.1:1", true)
	if n := len(h.pending.conns); n != 8 {
		t.Errorf("%d are counted, want 8", n)
	}
}

// TestPendingConnectionsOfLocalPeers: the bound of an address holds for
// loopback and private peers as rates do (limits.loopback_exempt).
func TestPendingConnectionsOfLocalPeers(t *testing.T) {
	for name, c := range map[string]struct {
		rules             fairness.Rules
		loopback, private int // let in of five
	}{
		"all names are loopback ones":  {fairness.Rules{Exempt: true}, 5, 2},
		"a public name, and no proxy":  {fairness.Rules{Common: true}, 5, 5},
		"told apart like anybody else": {fairness.Rules{}, 2, 2},
	} {
		h, _ := newHandler(t, func(_ *fakeRelay, o *Options) {
			o.Limits, o.Shares = Limits{Connections: 100, PerAddress: 2}, fairness.NewShares(c.rules)
		})
		for addr, want := range map[string]int{"127.0.0.1": c.loopback, "[::1]": c.loopback, "172.17.0.1": c.private, "203.0.113.1": 2} {
			open := 0
			for i := range 5 {
				r := &remote{addr: fmt.Sprintf("%s:%d", addr, 1000+i)}
				if h.pending.connState(r, http.StateNew); r.closed {
					h.pending.connState(r, http.StateClosed)
				} else {
					open++
				}
			}
			if open != want {
				t.Errorf("%s: %d of five connections from %s, want %d", name, open, addr, want)
			}
		}
	}
}

// TestPendingConnectionsOfOneShare: a client with a whole /48 leaves as many
// connections for others as it has.
func TestPendingConnectionsOfOneShare(t *testing.T) {
	h, _ := newHandler(t, func(_ *fakeRelay, o *Options) { o.Limits = Limits{Connections: 100, PerAddress: 2} })
	open := 0
	for i := range 200 {
		r := &remote{addr: fmt.Sprintf("[2001:db8:0:%x::1]:1", i)}
		if h.pending.connState(r, http.StateNew); r.closed {
			h.pending.connState(r, http.StateClosed)
		} else {
			open++
		}
	}
	if open != 50 {
		t.Errorf("one /48 has %d connections of 100", open)
	}
	other := &remote{addr: "203.0.113.1:1"}
	if h.pending.connState(other, http.StateNew); other.closed {
		t.Error("there is none left for another")
	}
}

func TestServerClosesWhatIsOverTheBound(t *testing.T) {
	m := metrics.New("test")
	h, _ := newHandler(t, func(_ *fakeRelay, o *Options) { o.Limits, o.Metrics = Limits{Connections: 1}, m })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := NewServer(h, patience, h.log)
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	silent := dial(t, l.Addr().String())
	if _, err := io.WriteString(silent, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Read(make([]byte, 1)); err != nil { // it is counted by now
		t.Fatal(err)
	}
	if _, err := io.ReadAll(dial(t, l.Addr().String())); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the second connection: %v, want its end", err)
	}
	if text := get(m.Handler(false), "GET", "/metrics").Body.String(); !strings.Contains(text, `engramd_connections_refused_total{reason="total"} 1`) {
		t.Error("the refusal is not counted")
	}
}

// FuzzClientAddr: whatever a client writes into the header, a stranger's header
// is not read, and what a trusted proxy added last is what counts.
func FuzzClientAddr(f *testing.F) {
	for _, s := range []string{"", "1.2.3.4", "1.2.3.4, 5.6.7.8", "[::1]:80", "unknown", ",,,", "fe80::1%eth0", "10.0.0.1, 10.0.0.2", "\x00"} {
		f.Add(s)
	}
	p := Proxy{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Header: "X-Forwarded-For"}
	f.Fuzz(func(t *testing.T, written string) {
		stranger := &http.Request{RemoteAddr: "203.0.113.1:1", Header: http.Header{"X-Forwarded-For": {written}}}
		if got := p.ClientAddr(stranger); got != netip.MustParseAddr("203.0.113.1") {
			t.Errorf("a stranger is %s by its own word", got)
		}
		proxied := &http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{"X-Forwarded-For": {written + ", 198.51.100.7"}}}
		if got := p.ClientAddr(proxied); got != netip.MustParseAddr("198.51.100.7") {
			t.Errorf("behind a proxy the client is %s", got)
		}
		through := &http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{"X-Forwarded-For": {written}}}
		if got := p.ClientAddr(through); !got.IsValid() {
			t.Error("no address at all")
		}
	})
}
