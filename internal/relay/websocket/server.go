package websocket

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/logging/redact"
	"engramd/internal/relay/metrics"
)

// Options are how a Server is made. Every field but Limits may be zero.
type Options struct {
	Limits Limits
	// Addr tells a request's client address; nil means the socket's. Behind a
	// proxy it reads that proxy's header.
	Addr   func(*http.Request) netip.Addr
	Shares *fairness.Shares // whom work is charged to; nil means shares under default rules
	// Pressed tells that the process is short of memory: then no REQ, COUNT or
	// NEG-OPEN is served. nil means never.
	Pressed func() bool
	// Replica tells readers that mirror this relay: Limits.Sync has a bound of
	// their own for what they reconcile. nil means that there are none.
	Replica func(gate.Reader) bool
	// Waits says that the relay may wait for other nodes before it answers what
	// a request is granted (relay.Config.Latest).
	Waits   bool
	Metrics *metrics.Sessions // nil counts nothing
	Log     *slog.Logger      // nil discards
	Tags    *redact.Tags      // how the log and Status name keys; nil names none
	Access  bool              // see SetAccess
	Now     func() time.Time  // nil means time.Now
}

// Server serves the websocket connections of one relay: an http.Handler for
// upgrades, and the taker of the relay's live events.
type Server struct {
	backend Backend
	o       Options     // but for Limits and Access, which change
	access  atomic.Bool // log connections that end

	limits      atomic.Pointer[Limits]
	admission   admission
	live        *index
	filters     *fairness.Budget  // bytes of live filters
	messages    *fairness.Budget  // bytes of messages being read, and read and not yet answered
	claims      atomic.Int64      // claimPatience
	syncing     *fairness.Budget  // bytes of the sets of reconciliations
	permits     *fairness.Permits // for who computes
	behind      behind
	backlog     atomic.Int64 // bytes of events that some connection has still to look at
	verifier    *verifier
	signatures  wire.Verifier
	queued      atomic.Int64  // bytes in all outboxes
	queues      queues        // the same by share
	queuedSeen  atomic.Int64  // what of that the metrics know
	connections atomic.Uint64 // made so far
	panics      atomic.Int64

	mu       sync.Mutex
	conns    map[*conn]netip.Addr
	draining bool
	blocked  func(netip.Addr) bool // see SetBlocked
	empty    chan struct{}         // closed when draining and no connection is left
}

// New makes a server for the relay and becomes the taker of its live events.
// End it with Shutdown.
func New(r *relay.Relay, o Options) *Server { return newServer(overRelay{r}, o) }

func newServer(b Backend, o Options) *Server {
	o.Shares, o.Metrics = cmp.Or(o.Shares, fairness.NewShares(fairness.Rules{Exempt: true})), cmp.Or(o.Metrics, metrics.None().Sessions)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Server{
		backend: b, o: o, live: newIndex(), filters: fairness.NewBudget(fairness.BudgetLimits{}), messages: fairness.NewBudget(fairness.BudgetLimits{}),
		syncing: fairness.NewBudget(fairness.BudgetLimits{}), permits: fairness.NewPermits(fairness.Processors()),
		conns: make(map[*conn]netip.Addr), empty: make(chan struct{}), admission: admission{byAddr: make(map[string]int)},
		behind: behind{feeds: make(map[*feed]struct{})}, queues: queues{shares: make(map[string]*shareQueue)},
	}
	if s.o.Addr == nil {
		s.o.Addr = socketAddr
	}
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	if s.o.Replica == nil {
		s.o.Replica = func(gate.Reader) bool { return false }
	}
	if s.o.Pressed == nil {
		s.o.Pressed = func() bool { return false }
	}
	s.claims.Store(int64(claimPatience))
	s.SetLimits(o.Limits)
	s.SetAccess(o.Access)
	// A worker that is in the library for long loses its place among the Go
	// threads. With two for each, commits get larger and cost less.
	s.verifier = newVerifier(2 * fairness.Processors())
	b.OnDelivery(s.deliver, s.lost)
	return s
}

// SetLimits replaces the limits. Connections that are open keep their frame
// rate and the library's message cap; everything else holds from now on.
func (s *Server) SetLimits(l Limits) {
	s.limits.Store(&l)
	s.filters.SetLimits(fairness.BudgetLimits{Conn: l.LiveBytes, Share: l.LiveShare, Total: l.LiveTotal})
	s.messages.SetLimits(fairness.BudgetLimits{Share: l.WaitingShare, Total: l.WaitingTotal})
	s.syncing.SetLimits(fairness.BudgetLimits{Share: l.Sync.Share, Total: l.Sync.Total, Kept: l.Sync.Total / 2})
}

// socketAddr returns the address of the other end of the socket.
func socketAddr(r *http.Request) netip.Addr {
	ap, _ := netip.ParseAddrPort(r.RemoteAddr)
	return ap.Addr()
}

// Wanted reports whether a request asks for a websocket.
func Wanted(r *http.Request) bool { return websocket.IsWebSocketUpgrade(r) }

// ServeHTTP upgrades a request and leaves the connection to its own goroutines.
// A refused upgrade is answered with 503 (too many connections, shutting down),
// 429 (too many from this address) or 403 (a RejectConnection hook: the address
// is blocked).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	addr := s.o.Addr(r)
	refuse := func(status int, reason, text string) {
		s.o.Metrics.ConnectionRefused(reason)
		s.o.Log.Debug("connection refused", "addr", addr, "reason", text)
		refuseUpgrade(w, status, text)
	}
	if s.isDraining() {
		refuse(http.StatusServiceUnavailable, "draining", "error: the relay is shutting down")
		return
	}
	who := s.o.Shares.Enter(addr)
	switch s.admission.enter(who, s.limits.Load()) {
	case "total":
		refuse(http.StatusServiceUnavailable, "total", "error: too many connections")
		return
	case "address":
		refuse(http.StatusTooManyRequests, "address", "rate-limited: too many connections from your address")
		return
	}
	kept := false
	defer func() {
		if !kept {
			s.admission.leave(who)
		}
	}()
	if s.backend.RejectsConnection(r) {
		refuse(http.StatusForbidden, "hook", "blocked: connection refused")
		return
	}
	kept = s.upgrade(w, r, addr, who)
}

// refuseUpgrade answers as all HTTP on the port does: with a JSON error.
func refuseUpgrade(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, "{\"error\":%q}\n", text) // the texts are ours and plain ASCII
}

// upgrade answers the handshake and starts the connection.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request, addr netip.Addr, who fairness.Who) (kept bool) {
	lim := s.limits.Load()
	t := &transport{silence: lim.Silence, stall: lim.Stall}
	up := websocket.Upgrader{
		HandshakeTimeout:  config.HandshakeTime,
		ReadBufferSize:    readBufferBytes,
		WriteBufferPool:   &sync.Pool{}, // the library writes nothing after the handshake
		CheckOrigin:       func(*http.Request) bool { return true },
		EnableCompression: true, // without context takeover (RFC 7692)
	}
	challenge := make([]byte, 16)
	_, _ = rand.Read(challenge) // never fails
	ws, err := up.Upgrade(&hijacker{w, t}, r, nil)
	if err != nil {
		s.o.Metrics.ConnectionRefused("handshake")
		return false
	}
	t.started = true
	ws.SetReadLimit(int64(hardCap(lim)))
	c := newConn(s, ws, t, addr, who, hex.EncodeToString(challenge))
	if !s.add(c, addr) {
		t.abort()
		s.live.leave(&c.feed)
		s.queues.leave(c.out.share)
		return false
	}
	go c.serve()
	return true
}

// readBufferBytes is what each connection has for reading, idle ones too.
const readBufferBytes = 2 << 10

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

func (s *Server) add(c *conn, addr netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || s.isBlocked(addr) {
		return false
	}
	s.conns[c] = addr
	s.o.Metrics.ConnectionOpened()
	return true
}

// remove forgets a connection that has ended.
func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.conns[c]; !ok {
		return
	}
	delete(s.conns, c)
	s.countQueued()
	s.admission.leave(c.entered)
	s.o.Metrics.ConnectionClosed()
	if s.draining && len(s.conns) == 0 {
		close(s.empty)
	}
}

// Shutdown refuses new connections and reads no more frames; EVENTs that were
// read are committed and answered, and every client is told that the relay goes
// away (1001). It returns nil when all connections have ended; when ctx ends
// first, those that are left are cut off and ctx's error is returned. Close the
// store after it, not before. A second call waits like the first.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	first := !s.draining
	s.draining = true
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	if first && len(conns) == 0 {
		close(s.empty)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.record.because("the relay is shutting down")
		c.draining.Store(true)
		c.stop(websocket.CloseGoingAway)
	}
	defer s.verifier.close()
	select {
	case <-s.empty:
		return nil
	case <-ctx.Done():
		for _, c := range conns {
			c.kill()
		}
		return ctx.Err()
	}
}

// Panics returns the number of connections that a panic has ended.
func (s *Server) Panics() int64 { return s.panics.Load() }
