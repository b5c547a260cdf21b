package relayhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr/nip11"

	"engramd/internal/relay"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/store"
)

// fakeRelay answers Info and Ready.
type fakeRelay struct {
	doc   nip11.RelayInformationDocument
	self  string
	keeps [2]int
	err   atomic.Pointer[error]
	asked atomic.Int64
}

func (f *fakeRelay) Info(*http.Request) nip11.RelayInformationDocument { return f.doc }

func (f *fakeRelay) Self() string { return f.self }

func (f *fakeRelay) Latest(context.Context) error { return nil }

func (f *fakeRelay) Keeps() (versions, days int) { return f.keeps[0], f.keeps[1] }

func (f *fakeRelay) Ready(context.Context) error {
	f.asked.Add(1)
	if p := f.err.Load(); p != nil {
		return *p
	}
	return nil
}

// socket says who came instead of upgrading.
func socket(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "socket %s", relay.AddrFrom(r.Context()))
}

func newHandler(t *testing.T, change func(*fakeRelay, *Options)) (*Handler, *fakeRelay) {
	t.Helper()
	f := &fakeRelay{doc: nip11.RelayInformationDocument{
		Name: "test relay", Description: "for tests", Software: "engramd", Version: "v1", SupportedNIPs: []any{1, 42},
		Limitation: &nip11.RelayLimitationDocument{MaxMessageLength: 262144, MaxSubscriptions: 64, MaxLimit: 5000, DefaultLimit: 500, CreatedAtUpperLimit: 900},
	}}
	o := Options{Relay: f, Socket: http.HandlerFunc(socket), URLs: []string{"wss://relay.example.com"}}
	if change != nil {
		change(f, &o)
	}
	return New(o), f
}

func get(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestRootByAccept(t *testing.T) {
	h, _ := newHandler(t, nil)
	const info, page = "application/nostr+json", "text/html; charset=utf-8"
	for _, c := range []struct {
		accept []string
		want   string
	}{
		{nil, page},
		{[]string{"*/*"}, page},
		{[]string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, page},
		{[]string{"application/json"}, page},
		{[]string{"application/nostr+json"}, info},
		{[]string{"Application/Nostr+JSON"}, info},
		{[]string{"text/html, application/nostr+json;q=0.5"}, info},
		{[]string{"application/json;q=0.9 , application/nostr+json ; charset=utf-8; q=0.1"}, info},
		{[]string{"text/html", "application/nostr+json"}, info},
		{[]string{"text/html, application/nostr+json;q=0"}, page},
		{[]string{"application/nostr+json-rpc"}, page},
		{[]string{"application/nostr+json+rpc"}, page},
	} {
		var header []string
		for _, a := range c.accept {
			header = append(header, "Accept", a)
		}
		w := get(h, "GET", "/", header...)
		if w.Code != 200 || w.Header().Get("Content-Type") != c.want {
			t.Errorf("Accept %q: %d %s, want %s", c.accept, w.Code, w.Header().Get("Content-Type"), c.want)
		}
		if w.Header().Get("Vary") != "Accept" {
			t.Errorf("Accept %q: no Vary, so a cache would mix page and document", c.accept)
		}
	}
}

func TestInfoDocument(t *testing.T) {
	h, _ := newHandler(t, nil)
	w := get(h, "GET", "/", "Accept", infoType, "Origin", "https://client.example")
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
		"Access-Control-Allow-Headers": "Accept, Authorization, Content-Type, X-Auth-Tag, Engramd-Session", "X-Content-Type-Options": "nosniff",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var doc map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc["name"] != "test relay" || doc["version"] != "v1" || doc["software"] != "engramd" {
		t.Errorf("document %v", doc)
	}
	for _, empty := range []string{"pubkey", "contact", "icon", "banner", "self"} {
		if v, ok := doc[empty]; ok {
			t.Errorf("%s = %q: what is not known must not be there", empty, v)
		}
	}
	own, _ := newHandler(t, func(f *fakeRelay, _ *Options) { f.self = strings.Repeat("ab", 32) })
	if w := get(own, "GET", "/", "Accept", infoType); !strings.Contains(w.Body.String(), `"self":"`+strings.Repeat("ab", 32)+`"`) {
		t.Errorf("the relay's own key is not told: %s", w.Body)
	}
	limits := doc["limitation"].(map[string]any)
	if _, ok := limits["created_at_lower_limit"]; ok {
		t.Error("created_at_lower_limit 0 claims that no past event is taken")
	}
	if limits["max_limit"] != 5000.0 || limits["auth_required"] != false || limits["max_message_length"] != 262144.0 {
		t.Errorf("limitation %v", limits)
	}
	if w := get(h, "HEAD", "/", "Accept", infoType); w.Code != 200 || w.Header().Get("Content-Type") != infoType {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
}

func TestPreflight(t *testing.T) {
	h, _ := newHandler(t, nil)
	w := get(h, "OPTIONS", "/", "Origin", "https://client.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization")
	if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Authorization") || w.Header().Get("Access-Control-Max-Age") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestErrorsAreJSONAndNothingRedirects(t *testing.T) {
	h, _ := newHandler(t, nil)
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/nothing", 404}, {"GET", "/nothing/", 404}, {"GET", "//", 404}, {"GET", "/healthz/", 404}, {"GET", "//healthz", 404},
		{"GET", "/a/../healthz", 404}, {"GET", "/./", 404}, {"GET", "/metrics", 404}, {"GET", "/debug/pprof/", 404},
		{"POST", "/", 405}, {"PUT", "/", 405}, {"DELETE", "/healthz", 405}, {"POST", "/readyz", 405}, {"POST", "/nothing", 404},
	} {
		w := get(h, c.method, "http://relay.example.com"+c.path)
		var body map[string]string
		err := json.Unmarshal(w.Body.Bytes(), &body)
		if w.Code != c.want || err != nil || !strings.HasPrefix(body["error"], "invalid: ") || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %q (%v), want %d", c.method, c.path, w.Code, w.Body, err, c.want)
		}
		if w.Header().Get("Location") != "" {
			t.Errorf("%s %s redirects to %s", c.method, c.path, w.Header().Get("Location"))
		}
		if c.want == 405 && w.Header().Get("Allow") == "" {
			t.Errorf("%s %s: 405 without Allow", c.method, c.path)
		}
	}
}

func TestUpgradesGoToTheSocket(t *testing.T) {
	h, _ := newHandler(t, func(_ *fakeRelay, o *Options) {
		o.URLs = []string{"wss://a.example/", "wss://b.example/relay/one"}
	})
	up := []string{"Connection", "keep-alive, Upgrade", "Upgrade", "WebSocket"}
	for path, want := range map[string]bool{"/": true, "/relay/one": true, "/relay/one/": true, "/relay": false, "/relay/one/x": false, "/healthz": false} {
		w := get(h, "GET", path, up...)
		if got := strings.HasPrefix(w.Body.String(), "socket 192.0.2.1"); got != want {
			t.Errorf("%s: %d %q, want socket %v", path, w.Code, w.Body, want)
		}
	}
	for _, header := range [][]string{{"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Connection", "Upgrade", "Upgrade", "h2c"}} {
		if w := get(h, "GET", "/", header...); strings.HasPrefix(w.Body.String(), "socket") {
			t.Errorf("%v is no websocket upgrade", header)
		}
	}
	if w := get(h, "GET", "/relay/one", "Accept", infoType); w.Code != 200 {
		t.Errorf("document at the path of a public URL: %d", w.Code)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	now := time.Unix(1000, 0)
	var log bytes.Buffer
	late, ails, refuses := false, "", error(nil)
	h, f := newHandler(t, func(_ *fakeRelay, o *Options) {
		o.Clock, o.Log = func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil))
		o.Late = func() bool { return late }
		o.Ails = func() (string, error) { return ails, refuses }
	})
	want := func(path string, code int) {
		t.Helper()
		if w := get(h, "GET", path); w.Code != code || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %q, want %d", path, w.Code, w.Body, code)
		}
	}
	want("/healthz", 200)
	want("/readyz", 200)
	want("/readyz", 200)
	if n := f.asked.Load(); n != 1 {
		t.Errorf("the database was asked %d times within a second, want once", n)
	}
	full := errors.New("disk I/O error at /secret/path")
	f.err.Store(&full)
	now = now.Add(probeEvery)
	want("/readyz", 503)
	want("/healthz", 200)
	if w := get(h, "GET", "/readyz"); strings.Contains(w.Body.String(), "/secret/path") {
		t.Error("the database's own words are public")
	}
	for range 90 { // seconds, with many who ask
		now = now.Add(probeEvery)
		want("/readyz", 503)
		want("/readyz", 503)
	}
	if n := strings.Count(log.String(), "not ready"); n != 2 {
		t.Errorf("told %d times in a minute and a half, want at once and after a minute", n)
	}
	f.err.Store(nil)
	now = now.Add(probeEvery)
	want("/readyz", 200)
	now, late = now.Add(probeEvery), true
	if w := get(h, "GET", "/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), "the clock is behind") || !strings.Contains(log.String(), "the clock is behind") {
		t.Errorf("a clock that is behind: %d %s\n%s", w.Code, w.Body, &log)
	}
	now, late = now.Add(probeEvery), false
	want("/readyz", 200)
	now, ails = now.Add(probeEvery), "a server is unknown"
	if w := get(h, "GET", "/readyz"); w.Code != 200 || !strings.Contains(w.Body.String(), ails) {
		t.Errorf("a server of the log of which nothing is known: %d %s", w.Code, w.Body)
	}
	now, refuses = now.Add(probeEvery), store.ErrUnsynced
	if w := get(h, "GET", "/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), "does not sync what it acknowledges") {
		t.Errorf("a server of the log that does not sync: %d %s", w.Code, w.Body)
	}
	now, ails, refuses = now.Add(probeEvery), "", nil
	if w := get(h, "GET", "/readyz"); w.Code != 200 || strings.Contains(w.Body.String(), "log") {
		t.Errorf("all is well again: %d %s", w.Code, w.Body)
	}
	h.Drain()
	want("/readyz", 503)
	want("/healthz", 200)
}

// TestServerLimits: a client that does not finish its headers, or sends no
// body, is not waited for.
func TestServerLimits(t *testing.T) {
	h, _ := newHandler(t, nil)
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = NewServer(h, 150*time.Millisecond, h.log)
	srv.Start()
	defer srv.Close()
	for name, text := range map[string]string{
		"headers": "GET / HTTP/1.1\r\nHost: a\r\n",
		"body":    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nX: " + strings.Repeat("y", 40<<10) + "\r\n\r\n",
	} {
		conn := dial(t, srv.Listener.Addr().String())
		if _, err := io.WriteString(conn, text); err != nil && name == "headers" {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadAll(conn); errors.Is(err, errTimeout) {
			t.Errorf("%s: the connection was left open", name)
		}
	}
	if s := srv.Config; s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Error("a limit of the server is not set")
	}
}

func TestClientAddr(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, c := range []struct {
		name, remote string
		proxy        Proxy
		header       []string
		want         string
	}{
		{"no proxy configured", "203.0.113.9:1", Proxy{}, []string{"1.2.3.4"}, "203.0.113.9"},
		{"header of a stranger", "203.0.113.9:1", Proxy{trusted, "X-Forwarded-For"}, []string{"1.2.3.4"}, "203.0.113.9"},
		{"trusted", "10.1.1.1:1", Proxy{trusted, "X-Forwarded-For"}, []string{"1.2.3.4"}, "1.2.3.4"},
		{"trusted, no header", "10.1.1.1:1", Proxy{trusted, "X-Forwarded-For"}, nil, "10.1.1.1"},
		{"client's own entry is not reached", "10.1.1.1:1", Proxy{trusted, "X-Forwarded-For"}, []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		{"two proxies", "10.1.1.1:1", Proxy{trusted, "X-Forwarded-For"}, []string{"6.6.6.6, 1.2.3.4, 10.2.2.2"}, "1.2.3.4"},
		{"two header lines", "10.1.1.1:1", Proxy{trusted, "X-Forwarded-For"}, []string{"6.6.6.6", "1.2.3.4"}, "1.2.3.4"},
		{"all trusted", "10.1.1.1:1", Proxy{trusted, "X-Forwarded-For"}, []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		{"nonsense stops the search", "10.1.1.1:1", Proxy{trusted, "X-Forwarded-For"}, []string{"1.2.3.4, unknown"}, "10.1.1.1"},
		{"IPv6 proxy and client", "[::1]:1", Proxy{trusted, "X-Forwarded-For"}, []string{"2001:db8::1"}, "2001:db8::1"},
		{"with a port", "10.1.1.1:1", Proxy{trusted, "X-Forwarded-For"}, []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		{"mapped IPv4", "[::ffff:10.1.1.1]:1", Proxy{trusted, "X-Forwarded-For"}, []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		{"another header", "10.1.1.1:1", Proxy{trusted, "X-Real-Ip"}, []string{"1.2.3.4"}, "10.1.1.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _ := newHandler(t, nil)
			h.SetProxy(c.proxy)
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.remote
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "websocket")
			for _, v := range c.header {
				r.Header.Add("X-Forwarded-For", v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if got := strings.TrimPrefix(w.Body.String(), "socket "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestTheSocketCanTakeTheConnectionOver upgrades through the handler for real,
// and counts refusals with their own status.
func TestTheSocketCanTakeTheConnectionOver(t *testing.T) {
	m := metrics.New("test")
	refuse := atomic.Bool{}
	h, _ := newHandler(t, func(_ *fakeRelay, o *Options) {
		o.Metrics = m
		o.Socket = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuse.Load() {
				http.Error(w, "rate-limited: no", http.StatusTooManyRequests)
				return
			}
			var up websocket.Upgrader
			conn, err := up.Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.WriteMessage(websocket.TextMessage, []byte("hello"))
			_ = conn.Close()
		})
	})
	var handlers sync.WaitGroup // a server forgets those whose connection was taken over
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, text, err := conn.ReadMessage(); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	refuse.Store(true)
	if _, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http"), nil); err == nil || resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("refusal: %v", err)
	}
	handlers.Wait()
	text := get(m.Handler(false), "GET", "/metrics").Body.String()
	for _, want := range []string{`{endpoint="websocket",status="1xx"} 1`, `{endpoint="websocket",status="4xx"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}
