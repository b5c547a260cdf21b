package bridge

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr/nip11"

	"engramd/internal/metrics"
	"engramd/internal/relay"
)

// Relay is what the bridge asks of the relay; *relay.Relay is one.
type Relay interface {
	// Info is the NIP-11 document, true at the moment of the request.
	Info(r *http.Request) nip11.RelayInformationDocument
	// Ready returns nil when the database takes writes.
	Ready(ctx context.Context) error
}

var _ Relay = (*relay.Relay)(nil)

// Options make a Handler. Relay and Socket are required.
type Options struct {
	Relay   Relay
	Socket  http.Handler // takes websocket upgrades; finds the client with relay.AddrFrom
	URLs    []string     // ws:// or wss:// URLs that clients are told to use; the first one leads
	Proxy   Proxy
	Pending PendingLimits
	Clock   func() time.Time // nil means time.Now
	Log     *slog.Logger     // nil means none
	Metrics *metrics.Metrics // nil-safe
}

// Handler serves everything on the relay's port. Make one with New.
type Handler struct {
	relay    Relay
	socket   http.Handler
	urls     []string
	mux      *http.ServeMux
	proxy    atomic.Pointer[Proxy]
	draining atomic.Bool
	probe    probe
	pending  *pending
	log      *slog.Logger
	metrics  *metrics.Metrics
}

// New makes the handler. The relay's page and its websocket are at / and at
// the path of every URL that has one, for proxies that pass it on.
func New(o Options) *Handler {
	h := &Handler{relay: o.Relay, socket: o.Socket, urls: o.URLs, mux: http.NewServeMux(), log: o.Log, metrics: o.Metrics}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.probe.clock = o.Clock
	if h.probe.clock == nil {
		h.probe.clock = time.Now
	}
	h.SetProxy(o.Proxy)
	h.pending = newPending(func(addr netip.Addr) bool { return h.proxy.Load().trusts(addr) }, o.Metrics)
	h.SetPending(o.Pending)
	h.route("/healthz", "healthz", h.healthz)
	h.route("/readyz", "readyz", h.readyz)
	for path := range rootPaths(o.URLs) {
		h.mux.HandleFunc(path, h.root)
	}
	h.mux.HandleFunc("/", h.notFound)
	return h
}

// rootPaths are the paths under which the relay itself is found, as patterns
// that match exactly.
func rootPaths(urls []string) map[string]bool {
	paths := map[string]bool{"/{$}": true}
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || strings.ContainsAny(u.Path, "{}") {
			continue
		}
		if path := "/" + strings.Trim(u.Path, "/"); path != "/" {
			paths[path], paths[path+"/{$}"] = true, true
		}
	}
	return paths
}

// route adds an endpoint that is read with GET or HEAD.
func (h *Handler) route(path, endpoint string, serve http.HandlerFunc) {
	h.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		h.counted(w, endpoint, func(w http.ResponseWriter) {
			if readOnly(w, r) {
				serve(w, r)
			}
		})
	})
}

// Drain makes /readyz fail from now on, so that a load balancer sends nobody
// any more.
func (h *Handler) Drain() { h.draining.Store(true) }

// SetProxy replaces what is believed of forwarding headers, for requests to come.
func (h *Handler) SetProxy(p Proxy) { h.proxy.Store(&p) }

// SetPending replaces the bounds of connections that are not websockets.
func (h *Handler) SetPending(l PendingLimits) { h.pending.limits.Store(&l) }

// ServeHTTP resolves the client's address and finds the endpoint.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	addr := h.proxy.Load().ClientAddr(r)
	// ServeMux would redirect a path with // or .. in it.
	if clean := r.URL.Path; !strings.HasPrefix(clean, "/") || strings.Contains(clean, "//") || strings.Contains(clean, "/.") {
		h.notFound(w, r)
		return
	}
	h.mux.ServeHTTP(w, r.WithContext(relay.WithAddr(r.Context(), addr)))
}

// root is the relay's own URL: websocket, NIP-11, or the page.
func (h *Handler) root(w http.ResponseWriter, r *http.Request) {
	if upgrade(r) {
		sw := &statusWriter{ResponseWriter: w, status: http.StatusSwitchingProtocols}
		h.socket.ServeHTTP(sw, r)
		h.metrics.HTTPDone("websocket", sw.status)
		return
	}
	endpoint, serve := "page", h.page
	if r.Method == http.MethodOptions || wantsInfo(r) {
		endpoint, serve = "info", h.info
	}
	h.counted(w, endpoint, func(w http.ResponseWriter) {
		if r.Method == http.MethodOptions {
			preflight(w)
		} else if readOnly(w, r) {
			serve(w, r)
		}
	})
}

func (h *Handler) notFound(w http.ResponseWriter, r *http.Request) {
	h.counted(w, "other", func(w http.ResponseWriter) {
		writeError(w, http.StatusNotFound, "invalid: there is nothing at this path; the relay is at /")
	})
}

// counted runs serve and counts the status it answers with.
func (h *Handler) counted(w http.ResponseWriter, endpoint string, serve func(http.ResponseWriter)) {
	sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	serve(sw)
	h.metrics.HTTPDone(endpoint, sw.status)
}

// statusWriter remembers the status for the metrics.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader passes the status on.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Hijack lets the session take the connection over.
func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap lets http.ResponseController find the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
