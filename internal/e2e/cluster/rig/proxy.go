package rig

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dialLimit is how long a proxy tries to reach what is behind it.
const dialLimit = 2 * time.Second

// State is what a proxy does with connections.
type State int32

// The states of a proxy.
const (
	Healed    State = iota // bytes go both ways
	Cut                    // no connection exists, and none is made: it is refused
	BlackHole              // connections exist and are made, and what comes is swallowed
	// HalfOpen swallows what the far side sends, and passes on what is sent to it: a
	// request arrives and its answer does not.
	HalfOpen
	// Deaf swallows what is sent to the far side, and passes on what that sends.
	Deaf
)

// Proxy is a TCP proxy on a loopback port of its own.
type Proxy struct {
	Addr string // HOST:PORT, for as long as the proxy is there

	listener net.Listener
	state    atomic.Int32

	mu     sync.Mutex
	target string
	links  map[*link]struct{}
	closed bool
	group  sync.WaitGroup
}

// link is one connection through a proxy.
type link struct {
	near, far net.Conn // far is nil if it was made in a black hole
	lossy     atomic.Bool
}

func (l *link) close() {
	for _, c := range []net.Conn{l.near, l.far} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as of a cable that is pulled and a peer that says so
			_ = tcp.Close()
		}
	}
}

// NewProxy listens. Without a target it refuses.
func NewProxy(t T) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy: %v", err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, links: map[*link]struct{}{}}
	p.group.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

// Target says where connections go from now on.
func (p *Proxy) Target(addr string) {
	p.mu.Lock()
	p.target = addr
	p.mu.Unlock()
}

// Set changes the state. Connections that lost bytes are ended by Healed: they
// could not go on.
func (p *Proxy) Set(s State) {
	p.state.Store(int32(s))
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if s == Cut || s == Healed && l.lossy.Load() {
			l.close()
		}
	}
}

// Close ends the proxy and waits for its goroutines.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.group.Wait()
}

func (p *Proxy) is(s State) bool { return State(p.state.Load()) == s }

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.group.Go(func() { p.serve(&link{near: near}) })
	}
}

func (p *Proxy) serve(l *link) {
	p.mu.Lock()
	target, closed := p.target, p.closed
	p.mu.Unlock()
	if closed || p.is(Cut) || target == "" {
		l.close()
		return
	}
	if p.is(BlackHole) {
		l.lossy.Store(true)
	} else if far, err := net.DialTimeout("tcp", target, dialLimit); err != nil {
		l.close()
		return
	} else {
		l.far = far
	}
	p.mu.Lock()
	if p.closed || p.is(Cut) {
		p.mu.Unlock()
		l.close()
		return
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pass(l, l.near, l.far, false) })
	if l.far != nil {
		both.Go(func() { p.pass(l, l.far, l.near, true) })
	}
	both.Wait()
	l.close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pass passes bytes on, or swallows them. A connection that has lost bytes hides
// the end of the other side too.
func (p *Proxy) pass(l *link, from, to net.Conn, back bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		swallow := to == nil || p.is(BlackHole) || p.is(HalfOpen) && back || p.is(Deaf) && !back
		if swallow {
			l.lossy.Store(true)
			if p.is(Healed) { // just now: Set may not have seen it
				l.close()
			}
		}
		if err == nil && swallow {
			continue
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			if !l.lossy.Load() {
				l.close()
			}
			return
		}
	}
}
