package websocket

import (
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// pipes is a listener without sockets: for a synctest bubble, in which time
// goes by when everybody waits, and nobody is ever late.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// over makes a client dial the listener.
func (p *pipes) over(d *websocket.Dialer) {
	d.NetDial = func(string, string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case p.conns <- far:
			return near, nil
		case <-p.closed:
			return nil, net.ErrClosed
		}
	}
}

// startVirtual is start in a bubble, with a connected client.
func startVirtual(t *testing.T, lim Limits) (*rig, *client) {
	t.Helper()
	p := newPipes()
	r := newRig(&fake{}, Options{Limits: lim})
	r.serveOn(t, p)
	return r, r.dial(t, p.over)
}

// A client that only answers pings stays, for far longer than the silence that
// is allowed.
func TestIdleClientsArePinged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds = 100
		lim := filled(Limits{})
		r, c := startVirtual(t, lim)
		answer := c.ws.PingHandler()
		pings, enough, since := 0, make(chan struct{}), time.Now()
		c.ws.SetPingHandler(func(s string) error {
			if pings++; pings == rounds {
				close(enough)
			}
			return answer(s)
		})
		c.ws.SetReadDeadline(time.Time{})
		go c.ws.ReadMessage()
		<-enough
		synctest.Wait()
		if took := time.Since(since); took != rounds*lim.PingEvery {
			t.Errorf("%d pings in %v, want one every %v", rounds, took, lim.PingEvery)
		}
		if r.count.get("open") != 1 {
			t.Error("a client that answers pings was cut off")
		}
	})
}

// A client from which no byte comes is gone after the silence, and not before.
func TestASilentClientIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := filled(Limits{})
		r, c := startVirtual(t, lim)
		c.ws.SetPingHandler(func(string) error { return nil })
		c.ws.SetReadDeadline(time.Time{})
		since := time.Now()
		for {
			if _, _, err := c.ws.ReadMessage(); err != nil {
				break
			}
		}
		if took := time.Since(since); took < lim.Silence || took > lim.Silence+lim.Linger {
			t.Errorf("it was cut off after %v, want %v and at most %v more", took, lim.Silence, lim.Linger)
		}
		synctest.Wait()
		if r.count.get("open") != 0 || r.count.get("cut ping") != 1 {
			t.Errorf("open %d, cut %d", r.count.get("open"), r.count.get("cut ping"))
		}
	})
}
