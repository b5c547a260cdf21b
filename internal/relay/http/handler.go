package relayhttp

import (
	"bufio"
	"cmp"
	"context"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr/nip11"

	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/httpauth"
	"engramd/internal/relay/logging/redact"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/websocket"
)

// Relay is what the bridge needs of the relay; *relay.Relay implements it.
type Relay interface {
	// Info returns the NIP-11 document, true at the moment of the request.
	Info(r *http.Request) nip11.RelayInformationDocument
	// Self returns the relay's own key, 64 hex digits, which is "self" in
	// NIP-11; "" for none.
	Self() string
	// Keeps is how many superseded versions are kept for each address, 0 for none,
	// and for how many days, 0 for ever.
	Keeps() (versions, days int)
	// Ready returns nil when the database takes writes.
	Ready(ctx context.Context) error
	// Latest returns when everything is here that any node acknowledged before
	// the call. Backend's reads wait by themselves.
	Latest(ctx context.Context) error
}

var _ Relay = (*relay.Relay)(nil)

// Options configure a Handler. Relay and Socket are required.
type Options struct {
	Relay  Relay
	Socket http.Handler // takes websocket upgrades; relay.AddrFrom finds the client's address
	URLs   []string     // ws:// or wss:// URLs that clients are told to use, the preferred one first
	Proxy  Proxy

	// Local refuses what browsers send for pages of other machines.
	Local bool

	// Backend answers signed requests (NIP-98). Nil serves none of their paths.
	Backend Backend
	Names   relay.Names // the URLs that a signature may be for
	Limits  Limits      // of signed requests

	// Management answers calls of NIP-86; nil serves none. Used remembers the
	// signatures of calls that change something; Management needs it.
	Management Management
	Used       *httpauth.Guard
	// UsedElsewhere notes such a signature where all nodes see it, and is
	// httpauth.ErrUsed if another one came first; nil where there are none.
	UsedElsewhere func(ctx context.Context, id, key string) error

	// Sessions take what a key has seen from one node to another; nil takes nothing.
	Sessions Sessions

	// Shares says which share a request is charged to; nil means shares under
	// default rules.
	Shares *fairness.Shares

	// Pressed reports whether the process is short of memory: then nothing is
	// queried or counted. nil means never.
	Pressed func() bool

	// API is served below /api/; nil serves nothing there.
	API API

	// Web is served below /app/; nil serves nothing there.
	Web Web

	Clock func() time.Time // nil means time.Now
	Late  func() bool      // whether the clock is behind what has arrived; nil: it is not
	// Ails says what is wrong with the log that several nodes share, "" for nothing, and
	// why this one takes no writes, nil while it does; nil: there is no such log.
	Ails    func() (what string, refuses error)
	Log     *slog.Logger     // nil means none
	Tags    *redact.Tags     // how the log names keys; nil names none
	Access  bool             // see SetAccess
	Metrics *metrics.Metrics // nil counts nothing
}

// Handler serves everything on the relay's port. Make one with New.
type Handler struct {
	socket  http.Handler
	mux     *http.ServeMux
	taken   map[string]bool // patterns of mux
	proxy   atomic.Pointer[Proxy]
	probe   probe
	late    func() bool // see Options
	ails    func() (what string, refuses error)
	pending *pending
	log     *slog.Logger
	tags    *redact.Tags
	access  atomic.Bool // log every request
	local   bool        // see Options

	in        *intake
	documents *documents
	bridge    *bridge   // nil: no signed requests
	managing  *managing // nil: no calls of NIP-86
	further   API       // below /api/; may be nil
	web       Web       // below /app/; may be nil
}

// New makes the handler. The relay's page and its websocket are at / and at
// the path of every URL that has one, for proxies that pass it on.
func New(o Options) *Handler {
	o.Metrics, o.Log = cmp.Or(o.Metrics, metrics.None()), cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Shares = cmp.Or(o.Shares, fairness.NewShares(fairness.Rules{Exempt: true}))
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Pressed == nil {
		o.Pressed = func() bool { return false }
	}
	h := &Handler{
		socket: o.Socket, mux: http.NewServeMux(), taken: map[string]bool{}, log: o.Log, tags: o.Tags, local: o.Local,
		further: o.API, web: o.Web, documents: &documents{relay: o.Relay, urls: o.URLs, web: o.Web != nil},
		in: &intake{
			relay: o.Relay, backend: o.Backend, sessions: o.Sessions, shares: o.Shares, pools: newPools(), log: o.Log, metrics: o.Metrics,
			signatures: signatures{o.Names, o.Clock},
		},
	}
	h.probe.clock, h.late, h.ails = o.Clock, o.Late, o.Ails
	h.documents.template = template.Must(template.New("page").Parse(pageHTML)) // it is part of the program, and tested
	h.SetAccess(o.Access)
	h.SetProxy(o.Proxy)
	h.pending = newPending(&h.in.pools.limits, h.unbounded, o.Metrics.Sessions, h.log)
	if o.Backend != nil {
		h.bridge = &bridge{in: h.in, backend: o.Backend, pressed: o.Pressed}
	}
	if o.Management != nil {
		h.managing = &managing{h.in, o.Management, o.Used, o.UsedElsewhere}
	}
	h.SetLimits(o.Limits)
	h.routes(o.URLs)
	return h
}

// routes adds all endpoints.
func (h *Handler) routes(urls []string) {
	h.route("/healthz", "healthz", h.healthz)
	h.route("/readyz", "readyz", h.readyz)
	for _, base := range basePaths(urls) {
		if h.bridge != nil {
			h.api(base, "/events", http.MethodPost, h.bridge.events)
			h.api(base, "/query", http.MethodPost, h.bridge.query)
			h.api(base, "/count", http.MethodPost, h.bridge.count)
			h.api(base, "/history", http.MethodGet, h.bridge.history)
		}
		if h.further != nil {
			h.mount(base, "/api/", &mounted{h.in, h.further})
		}
		h.handle(base+"/{$}", h.root)
		if base != "" {
			h.handle(base, h.root)
		}
	}
	if h.web != nil {
		h.serveWeb(urls)
	}
	h.handle("/", h.notFound)
}

// basePaths returns the paths of the relay itself, without their last slash: ""
// and those of the public URLs.
func basePaths(urls []string) []string {
	paths := []string{""}
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || strings.ContainsAny(u.Path, "{}") {
			continue
		}
		path := strings.TrimRight("/"+strings.Trim(u.Path, "/"), "/")
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// handle adds a pattern unless it is taken: a public URL with an endpoint's
// path must not keep the relay from starting.
func (h *Handler) handle(pattern string, serve http.HandlerFunc) {
	if !h.taken[pattern] {
		h.taken[pattern] = true
		h.mux.HandleFunc(pattern, serve)
	}
}

// route adds an endpoint that is read with GET or HEAD.
func (h *Handler) route(path, endpoint string, serve http.HandlerFunc) {
	h.handle(path, func(w http.ResponseWriter, r *http.Request) {
		h.in.counted(w, endpoint, func(w *statusWriter) {
			if readOnly(w, r) {
				serve(w, r)
			}
		})
	})
}

// Drain makes /readyz fail from now on, so that a load balancer sends no
// further clients.
func (h *Handler) Drain() { h.in.draining.Store(true) }

// SetProxy replaces the trusted forwarding headers, for requests to come.
func (h *Handler) SetProxy(p Proxy) { h.proxy.Store(&p) }

// unbounded reports whether the bounds of an address do not apply to a socket's
// address: it is a trusted proxy's, exempt, or one of those that cannot be told
// apart.
func (h *Handler) unbounded(addr netip.Addr) bool {
	who := h.in.shares.Enter(addr)
	return who.Exempt || who.Share == fairness.Local || h.proxy.Load().trusts(addr)
}

// ServeHTTP resolves the client's address and finds the endpoint.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	addr := h.proxy.Load().ClientAddr(r)
	sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	w = sw
	r, done := h.watched(sw, r, addr)
	defer done()
	if r.ContentLength != 0 && !websocket.Wanted(r) {
		expectNoBody(w)
		defer leaveBody(w)
	}
	if h.local && foreign(r) {
		h.refuseForeign(w, r)
		return
	}
	// ServeMux would redirect a path with // or .. in it.
	if clean := r.URL.Path; !strings.HasPrefix(clean, "/") || strings.Contains(clean, "//") || strings.Contains(clean, "/.") {
		h.notFound(w, r)
		return
	}
	ctx := relay.WithAddr(r.Context(), addr)
	h.mux.ServeHTTP(w, r.WithContext(fairness.With(ctx, h.who(ctx, addr))))
}

// who returns the share that a request is charged to. A trusted proxy that does
// not name its client may ask for anybody.
func (h *Handler) who(ctx context.Context, addr netip.Addr) fairness.Who {
	who := h.in.shares.Enter(addr)
	if conn, ok := ctx.Value(connKey{}).(uint64); ok {
		who.Conn = conn
	}
	if h.proxy.Load().trusts(addr) {
		who.Share, who.Part = fairness.Local, ""
	}
	return who
}

// root is the relay's own URL: websocket, management, NIP-11, or the page.
func (h *Handler) root(w http.ResponseWriter, r *http.Request) {
	if websocket.Wanted(r) {
		if err := h.in.blocked(r); err != nil {
			refusedFor(r, err)
			h.in.counted(w, "websocket", func(w *statusWriter) { h.in.answerProblem(w, err) })
			return
		}
		sw := w.(*statusWriter)
		sw.status, sw.visit.endpoint = http.StatusSwitchingProtocols, "websocket"
		h.socket.ServeHTTP(sw, r)
		h.in.metrics.HTTP.HTTPDone("websocket", sw.status)
		return
	}
	if h.managing != nil && isManagement(r) {
		h.managing.manage(w, r)
		return
	}
	endpoint, made := "page", h.documents.page
	if r.Method == http.MethodOptions || wantsInfo(r) {
		endpoint, made = "info", h.documents.info
	}
	h.in.counted(w, endpoint, func(w *statusWriter) {
		if r.Method == http.MethodOptions {
			preflight(w, h.managing != nil)
		} else if readOnly(w, r) {
			h.in.open(w, r, made)
		}
	})
}

func (h *Handler) notFound(w http.ResponseWriter, r *http.Request) {
	h.in.counted(w, "other", func(w *statusWriter) {
		writeError(w, http.StatusNotFound, "invalid: there is nothing at this path; the relay is at /")
	})
}

// statusWriter remembers the status for the metrics, whether an answer has
// begun, and what the log says about the request.
type statusWriter struct {
	http.ResponseWriter
	status  int
	started bool
	taken   bool // by the session, which logs the request itself
	bytes   int64
	visit   visit
	session func() string // names what the answer may rest on, or nil
}

// begin names what the answer may rest on before its header goes.
func (w *statusWriter) begin() {
	if !w.started && w.session != nil {
		w.Header().Set(relay.SessionHeader, w.session())
	}
	w.started = true
}

// WriteHeader passes the status on.
func (w *statusWriter) WriteHeader(status int) {
	w.begin()
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write passes a part of the answer on.
func (w *statusWriter) Write(b []byte) (int, error) {
	w.begin()
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Hijack lets the session take over the connection.
func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.taken = true
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap lets http.ResponseController find the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
