package websocket

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/relay/config"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/store/sqlite"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// counted remembers what sessions count, and wakes those who wait for a count.
type counted struct {
	mu      sync.Mutex
	n       map[string]int
	changed chan struct{}
}

// noMetrics counts nothing.
var noMetrics = metrics.None().Sessions

func newCounted() *counted { return &counted{n: map[string]int{}, changed: make(chan struct{})} }

func (m *counted) add(what string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n[what] += n
	close(m.changed)
	m.changed = make(chan struct{})
}

// sessions are the metrics that are remembered.
func (m *counted) sessions() *metrics.Sessions {
	one := func(what string) func() { return func() { m.add(what, 1) } }
	each := func(what string) func(string) { return func(value string) { m.add(what+value, 1) } }
	some := func(what string) func(int) { return func(n int) { m.add(what, n) } }
	return &metrics.Sessions{
		ConnectionOpened: one("open"), ConnectionClosed: func() { m.add("open", -1); m.add("closed", 1) }, ConnectionRefused: each("refused "),
		SubscriptionsAdd: some("subscriptions"), SubscriptionClosed: each("closed "), FrameRead: each("frame "), FrameRefused: each("frame refused "),
		ReadPaused: one("paused"), SlowReaderCut: each("cut "), StoredSent: some("stored"), LiveSent: some("live"),
		AuthDone: func(ok bool) { m.add(map[bool]string{true: "auth ok", false: "auth refused"}[ok], 1) },
		QueueAdd: func(queue string, n int) { m.add("queue "+queue, n) },
		SyncsAdd: func(n int, bytes int64) { m.add("syncs", n); m.add("sync bytes", int(bytes)) }, SyncEnded: each("sync "),
		SyncAnswered: func(time.Duration) { m.add("sync answered", 1) },
	}
}

func (m *counted) get(what string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n[what]
}

// await waits until the count is n.
func (m *counted) await(t testing.TB, what string, n int) {
	t.Helper()
	deadline := time.After(patience)
	for {
		m.mu.Lock()
		got, changed := m.n[what], m.changed
		m.mu.Unlock()
		if got == n {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s is %d, want %d", what, got, n)
		}
	}
}

// rig is a server on a real socket.
type rig struct {
	*Server
	fake  *fake
	count *counted
	url   string
	log   *logBuffer
	http  *http.Server
	store *sqlite.Store // of startReal
	path  string        // of its file
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start serves f until the test ends.
func start(t testing.TB, f *fake, o Options) *rig {
	t.Helper()
	r := newRig(f, o)
	r.serve(t)
	return r
}

// filled gives each bound that a test leaves out its default.
func filled(l Limits) Limits {
	fill(reflect.ValueOf(&l).Elem(), reflect.ValueOf(config.Default().Bounds()))
	return l
}

func fill(into, from reflect.Value) {
	for i := range into.NumField() {
		switch f := into.Field(i); {
		case f.Kind() == reflect.Struct:
			fill(f, from.Field(i))
		case f.IsZero():
			f.Set(from.Field(i))
		}
	}
}

// newRig makes a rig that is not served yet.
func newRig(f *fake, o Options) *rig {
	r := &rig{fake: f, count: newCounted(), log: &logBuffer{}}
	if o.Metrics == nil {
		o.Metrics = r.count.sessions()
	}
	o.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Limits = filled(o.Limits)
	r.Server = newServer(f, o)
	return r
}

// serve listens on a free port of the loopback.
func (r *rig) serve(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.serveOn(t, l)
}

func (r *rig) serveOn(t testing.TB, l net.Listener) {
	t.Helper()
	r.http = &http.Server{Handler: r.Server}
	go r.http.Serve(l)
	r.url = "ws://" + l.Addr().String()
	t.Cleanup(func() {
		r.http.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		for _, queue := range []string{queueVerify, queueOut} {
			if n := r.count.get("queue " + queue); n != 0 {
				t.Errorf("the queue %s is said to hold %d in the end", queue, n)
			}
		}
		if n := r.queued.Load(); n != 0 {
			t.Errorf("%d bytes are counted as queued in the end", n)
		}
	})
}

// client is one end of a websocket in a test's hands.
type client struct {
	t         testing.TB
	ws        *websocket.Conn
	challenge string
}

// dial connects and takes the challenge.
func (r *rig) dial(t testing.TB, with ...func(*websocket.Dialer)) *client {
	t.Helper()
	d := websocket.Dialer{HandshakeTimeout: patience}
	for _, w := range with {
		w(&d)
	}
	ws, _, err := d.Dial(r.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, ws: ws}
	t.Cleanup(func() { ws.Close() })
	first := c.recv()
	if !strings.HasPrefix(first, `["AUTH","`) {
		t.Fatalf("first frame is %s, want the challenge", first)
	}
	c.challenge = first[len(`["AUTH","`) : len(first)-2]
	return c
}

// smallBuffer makes the kernel hold little for a client that does not read.
func smallBuffer(d *websocket.Dialer) {
	d.NetDial = func(network, addr string) (net.Conn, error) {
		conn, err := net.Dial(network, addr)
		if err != nil {
			return nil, err
		}
		return conn, conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
}

func (c *client) send(frames ...string) {
	c.t.Helper()
	for _, f := range frames {
		c.ws.SetWriteDeadline(time.Now().Add(patience))
		if err := c.ws.WriteMessage(websocket.TextMessage, []byte(f)); err != nil {
			c.t.Fatalf("send %.60s: %v", f, err)
		}
	}
}

func (c *client) read() (string, error) {
	c.ws.SetReadDeadline(time.Now().Add(patience))
	_, b, err := c.ws.ReadMessage()
	return string(b), err
}

func (c *client) recv() string {
	c.t.Helper()
	s, err := c.read()
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	return s
}

// expect reads frames and compares them.
func (c *client) expect(want ...string) {
	c.t.Helper()
	for i, w := range want {
		if got := c.recv(); got != w {
			c.t.Fatalf("frame %d is\n  %.300s\nwant\n  %.300s", i+1, got, w)
		}
	}
}

// nothingBefore sends a frame with a known answer and requires that nothing
// comes before it.
func (c *client) nothingBefore() {
	c.t.Helper()
	c.send(`["COUNT","nothing before this",{"kinds":[1],"ids":[]}]`)
	c.expect(`["COUNT","nothing before this",{"count":0}]`)
}

// closed reads until the connection ends and returns the close code, 0 if it
// ended without a close frame.
func (c *client) closed() (code int, text string) {
	c.t.Helper()
	for {
		if _, err := c.read(); err != nil {
			if ce, ok := err.(*websocket.CloseError); ok {
				return ce.Code, ce.Text
			}
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				c.t.Fatal("the connection stays open")
			}
			return 0, err.Error()
		}
	}
}

func TestHTTPAnswersOfUpgrades(t *testing.T) {
	r := start(t, &fake{rejects: func(r *http.Request) bool { return r.URL.Path == "/banned" }}, Options{})
	for _, tc := range []struct {
		name, path string
		header     http.Header
		status     int
		counted    string
	}{
		{"no websocket", "/", http.Header{}, 400, "refused handshake"},
		{"rejected by a hook", "/banned", http.Header{}, 403, "refused hook"},
	} {
		w := httptest.NewRecorder()
		req := httptest.NewRequest("GET", tc.path, nil)
		r.ServeHTTP(w, req)
		if w.Code != tc.status || r.count.get(tc.counted) != 1 {
			t.Errorf("%s: status %d (want %d), counted %d", tc.name, w.Code, tc.status, r.count.get(tc.counted))
		}
	}
	if r.admission.total != 0 {
		t.Errorf("%d places are still taken", r.admission.total)
	}
}

func TestAnyOriginIsTaken(t *testing.T) {
	r := start(t, &fake{}, Options{})
	ws, _, err := websocket.DefaultDialer.Dial(r.url, http.Header{"Origin": {"https://elsewhere.example"}})
	if err != nil {
		t.Fatal(err)
	}
	ws.Close()
}
