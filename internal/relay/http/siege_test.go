package relayhttp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/httpauth"
	"engramd/internal/relay/store/sqlite/storetest"
)

// besieged is a world with everything that is served, on a socket whose clients
// say in a header which address is theirs.
func besieged(t *testing.T, change ...func(*Options)) (w *world, addr string) {
	var clock *storetest.Clock
	w = newWorld(t, append([]func(*Options){func(o *Options) {
		o.Proxy = Proxy{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Header: "X-Forwarded-For"}
		o.API = &echo{used: map[string]bool{}}
		o.Management = &manager{key: owner.Pub}
		o.Used = httpauth.New(time.Minute, 1000, 1000, func() time.Time { return clock.Now() })
		o.Limits = unhurried
	}}, change...)...)
	clock = w.clock
	return w, serve(t, w.Handler)
}

// head is the first lines of a request from an address.
func head(method, path, from string, header ...string) string {
	text := method + " " + path + " HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: " + from + "\r\n"
	for i := 0; i < len(header); i += 2 {
		text += header[i] + ": " + header[i+1] + "\r\n"
	}
	return text
}

// bearable is how long a request may take while others attack: far less than they
// hold theirs (unhurried), and enough for a busy machine.
const bearable = 20 * time.Second

// unhurried has attackers hold what they get until the test ends.
var unhurried = Limits{Patience: patience, Stall: patience, SmallBody: patience, LargeBody: patience}

// asks sends a request from an address and returns the status; the answer must
// come in bearable time, whatever else goes on.
func (w *world) asks(t *testing.T, addr, method, path, from, body string, header ...string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", from)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	start := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("%s %s from %s: %v", method, path, from, err)
		return 0
	}
	if _, err := readAll(resp); err != nil {
		t.Errorf("%s %s from %s: %v", method, path, from, err)
	}
	if took := time.Since(start); took > bearable {
		t.Errorf("%s %s from %s took %v", method, path, from, took)
	}
	return resp.StatusCode
}

// within waits until something is so.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: never", what)
		}
	}
}

// everythingAnswers wants each kind of request to be answered in time.
func (w *world) everythingAnswers(t *testing.T, addr, from string) {
	t.Helper()
	turn := fmt.Sprint(time.Now().UnixNano())
	note := text(agent.Sign(1, 0, turn))
	for _, c := range []struct {
		method, path, body string
		header             []string
		want               int
	}{
		{"POST", "/", aCall, []string{"Content-Type", managementType, "Authorization", w.manageAs(owner, aCall, nonce(turn))}, 200},
		{"POST", "/query", anything, []string{"Authorization", w.sign(agent, "POST", "/query", []byte(anything))}, 200},
		{"POST", "/count", anything, []string{"Authorization", w.sign(agent, "POST", "/count", []byte(anything))}, 200},
		{"POST", "/events", note, []string{"Authorization", w.sign(agent, "POST", "/events", []byte(note))}, 200},
		{"POST", "/api/x", "{}", []string{"Authorization", w.sign(agent, "POST", "/api/x", []byte("{}"))}, 201},
		{"POST", "/api/x", "{}", []string{"Authorization", "Bearer good"}, 201},
		{"GET", "/api/x", "", nil, 201},
		{"GET", "/", "", []string{"Accept", infoType}, 200},
		{"GET", "/", "", nil, 200},
		{"GET", "/healthz", "", nil, 200},
		{"GET", "/readyz", "", nil, 200},
	} {
		if got := w.asks(t, addr, c.method, c.path, from, c.body, c.header...); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got, c.want)
		}
	}
}

// TestTricklingBodies: 300 sockets of ten addresses that announce a body and
// send a byte of it hold no place of anybody else.
func TestTricklingBodies(t *testing.T) {
	w, addr := besieged(t)
	announced := make([]byte, 20)
	for i := range 300 {
		method, path, header := "POST", []string{"/query", "/events", "/count", "/api/x", "/api/y"}[i%5], []string{"Content-Length", "20"}
		switch {
		case i%10 == 9:
			path, header = "/", append(header, "Content-Type", managementType)
		case !strings.HasPrefix(path, "/api"): // by a key that proves itself
			header = append(header, "Authorization", w.sign(stranger, method, path, announced))
		}
		from := fmt.Sprintf("198.51.100.%d", i/30)
		if _, err := io.WriteString(dial(t, addr), head(method, path, from, header...)+"\r\nx"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		w.everythingAnswers(t, addr, "203.0.113.7")
	}
	w.everythingAnswers(t, addr, "198.51.100.3") // also from where some of them come
}

// TestSlowBodiesAreClosed: a small body must be there within its time, and who
// proves nothing is not waited for at all.
func TestSlowBodiesAreClosed(t *testing.T) {
	_, addr := besieged(t, func(o *Options) { o.Limits.SmallBody = 300 * time.Millisecond })
	w, _ := besieged(t)
	signed := w.sign(stranger, "POST", "/query", make([]byte, 20))
	for name, c := range map[string]struct {
		header []string
		status int
	}{
		"signed":                       {[]string{"Authorization", signed, "Content-Length", "20"}, 400},
		"unsigned":                     {[]string{"Content-Length", "20"}, 401},
		"unsigned, of unknown length":  {[]string{"Transfer-Encoding", "chunked"}, 401},
		"unsigned, waiting for a word": {[]string{"Content-Length", "20", "Expect", "100-continue"}, 401},
	} {
		conn := dial(t, addr)
		start := time.Now()
		fmt.Fprint(conn, head("POST", "/query", "192.0.2.1", c.header...)+"\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if body, err := readAll(resp); resp.StatusCode != c.status || err != nil || !resp.Close {
			t.Errorf("%s: %d %s, close %t, %v; want %d and the end", name, resp.StatusCode, body, resp.Close, err, c.status)
		}
		if _, err := conn.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // of a socket
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
		if took := time.Since(start); took > bearable {
			t.Errorf("%s: closed after %v", name, took)
		}
	}
}

// TestPlaces: the bounds of one share and of all, who waits and who is refused.
func TestPlaces(t *testing.T) {
	b := &endless{rows: 1, page: make(chan struct{})}
	w := overBackend(t, b, func(o *Options) {
		o.Limits = Limits{Requests: 8, PerShare: 2, Patience: 300 * time.Millisecond}
		o.Shares = fairness.NewShares(fairness.Rules{})
	})
	from := func(addr string) chan int {
		status := make(chan int, 1)
		before := b.pages.Load()
		go func() { status <- newRequest(w, addr)() }()
		deadline := time.Now().Add(patience)
		for b.pages.Load() == before && time.Now().Before(deadline) {
			select {
			case code := <-status: // refused
				status <- code
				return status
			case <-time.After(time.Millisecond):
			}
		}
		return status
	}
	one, two := from("192.0.2.1:1"), from("192.0.2.1:2")
	if code := <-from("192.0.2.1:3"); code != 429 {
		t.Errorf("a third request of one address: %d", code)
	}
	three, four := from("[2001:db8::1]:1"), from("[2001:db8:0:1::2]:1")
	if code := <-from("[2001:db8:0:2::ffff]:1"); code != 429 {
		t.Errorf("a third request of one /48: %d", code)
	}
	five := from("198.51.100.1:1")
	waits := newRequest(w, "192.0.2.1:3")
	six := make(chan int, 1)
	w.SetLimits(Limits{Requests: 8, PerShare: 2, Patience: patience})
	go func() { six <- waits() }()
	within(t, "a request that waits", func() bool { return w.in.pools.proved.Waiting() > 0 })
	close(b.page)
	for i, answer := range []chan int{one, two, three, four, five, six} {
		if code := <-answer; code != 200 {
			t.Errorf("request %d: %d", i+1, code)
		}
	}
	if w.working() != 0 || w.in.pools.room.Used() != 0 {
		t.Errorf("%d places and %d bytes are left", w.working(), w.in.pools.room.Used())
	}
}

// TestBlockedAddresses: 403 for everything but the probes, preflights and
// management, before a body is read.
func TestBlockedAddresses(t *testing.T) {
	f := &failing{refuses: true}
	w, addr := besieged(t, func(o *Options) { o.Backend = f })
	note := text(agent.Sign(1, 0, "x"))
	up := []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	for _, c := range []struct {
		method, path, body string
		header             []string
		want               int
	}{
		{"GET", "/", "", up, 403},
		{"GET", "/", "", nil, 403},
		{"GET", "/", "", []string{"Accept", infoType}, 403},
		{"POST", "/events", note, []string{"Authorization", w.sign(agent, "POST", "/events", []byte(note))}, 403},
		{"POST", "/query", anything, nil, 403},
		{"GET", "/api/x", "", nil, 403},
		{"POST", "/api/x", "{}", []string{"Authorization", "Bearer good"}, 403},
		{"GET", "/healthz", "", nil, 200},
		{"GET", "/readyz", "", nil, 200},
		{"OPTIONS", "/", "", nil, 204},
		{"POST", "/", aCall, []string{"Content-Type", managementType, "Authorization", w.manageAs(owner, aCall)}, 200},
		{"POST", "/", aCall, []string{"Content-Type", managementType, "Authorization", w.manageAs(stranger, aCall)}, 403},
	} {
		if got := w.asks(t, addr, c.method, c.path, "192.0.2.66", c.body, c.header...); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got, c.want)
		}
	}
	wantProblem(t, "the text", w.ask(agent, "POST", "/query", anything), 403, "blocked: ")
	if body := get(w.meter.Handler(false), "GET", "/metrics").Body.String(); !strings.Contains(body, `engramd_http_refused_total{reason="blocked"} 8`) {
		t.Error("the refusals are not counted")
	}
	if f.reached != 0 {
		t.Error("the relay was asked")
	}
}

// TestSlowReadersHoldNoPlace: clients that take their answers by drips have
// bytes of their own share, and no place that others wait for: whoever comes
// would wait for all of his patience.
func TestSlowReadersHoldNoPlace(t *testing.T) {
	b := &endless{rows: 1 << 20, size: 10_000}
	w, addr := besieged(t, func(o *Options) {
		o.Backend = b
		o.Limits.Requests = 8
	})
	for i := range 100 {
		conn := dial(t, addr)
		if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		from := fmt.Sprintf("198.51.100.%d", i%10)
		auth := w.sign(stranger, "POST", "/query", []byte(anything))
		fmt.Fprint(conn, head("POST", "/query", from, "Authorization", auth, "Content-Length", fmt.Sprint(len(anything)))+"\r\n"+anything)
	}
	within(t, "answers that wait for their readers, and no place held", func() bool { return b.pages.Load() > 100 && w.in.pools.proved.Used() == 0 })
	held := w.in.pools.room.Used()
	if held < 10*heldBytes || held > roomBytes {
		t.Errorf("%d bytes are held", held)
	}
	for range 3 {
		if got := w.asks(t, addr, "POST", "/count", "203.0.113.7", anything, "Authorization", w.sign(agent, "POST", "/count", []byte(anything))); got != 200 {
			t.Errorf("beside slow readers: %d", got)
		}
	}
}

// TestPendingBytesAreBounded: who announces much holds no more than it leaves
// for others, and small bodies find room.
func TestPendingBytesAreBounded(t *testing.T) {
	w, addr := besieged(t)
	for i := range 200 {
		conn := dial(t, addr)
		auth := w.sign(stranger, "POST", "/query", make([]byte, maxBody))
		fmt.Fprint(conn, head("POST", "/query", fmt.Sprintf("198.51.100.%d", i%10), "Authorization", auth, "Content-Length", fmt.Sprint(maxBody))+"\r\nx")
	}
	within(t, "three quarters of the room", func() bool { return w.in.pools.room.Used() >= roomBytes*3/4 })
	w.everythingAnswers(t, addr, "203.0.113.7")
	if held := w.in.pools.room.Used(); held >= roomBytes {
		t.Errorf("%d bytes are held", held)
	}
	if body := get(w.meter.Handler(false), "GET", "/metrics").Body.String(); !strings.Contains(body, `engramd_http_refused_total{reason="bytes"}`) {
		t.Error("the refusals are not counted")
	}
}

// TestOneRequestIsOne: what a proxy and the relay could read as different
// requests is refused, and what stands behind it is not carried out.
func TestOneRequestIsOne(t *testing.T) {
	_, addr := besieged(t)
	const inner = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, request := range map[string]string{
		"two lengths":            head("POST", "/query", "192.0.2.1", "Content-Length", "0", "content-length", "5") + "\r\n" + inner,
		"a length and chunks":    head("POST", "/query", "192.0.2.1", "Content-Length", "5", "Transfer-Encoding", "chunked") + "\r\n0\r\n\r\n" + inner,
		"another encoding":       head("POST", "/query", "192.0.2.1", "Transfer-Encoding", "xchunked") + "\r\n" + inner,
		"two encodings":          head("POST", "/query", "192.0.2.1", "Transfer-Encoding", "chunked", "transfer-encoding", "identity") + "\r\n0\r\n\r\n" + inner,
		"a sign in the length":   head("POST", "/query", "192.0.2.1", "Content-Length", "+5") + "\r\n" + inner,
		"a folded header":        head("POST", "/query", "192.0.2.1", "Connection", "close", "X", "a\r\n b") + "\r\n",
		"a space before a colon": head("POST", "/query", "192.0.2.1", "Content-Length ", "5") + "\r\n" + inner,
		"an unread body":         head("POST", "/query", "192.0.2.1", "Content-Length", fmt.Sprint(len(inner))) + "\r\n" + inner,
		"a GET with a body":      head("GET", "/api/x", "192.0.2.1", "Content-Length", fmt.Sprint(len(inner))) + "\r\n" + inner,
	} {
		conn := dial(t, addr)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if n := strings.Count(string(answer), "HTTP/1.1 "); n != 1 || err != nil || strings.Contains(string(answer), `"ok"`) {
			t.Errorf("%s: %d answers, %v:\n%s", name, n, err, answer)
		}
	}
	conn := dial(t, addr) // what is well-formed may come in a row
	fmt.Fprint(conn, strings.Repeat(inner, 3)+head("GET", "/healthz", "192.0.2.1", "Connection", "close")+"\r\n")
	if answer, err := io.ReadAll(conn); strings.Count(string(answer), "HTTP/1.1 200") != 4 || err != nil {
		t.Errorf("four in a row: %v\n%s", err, answer)
	}
}

// TestFloods of what needs no proof: documents, probes, preflights, headers and
// signatures that are none. Whoever comes from elsewhere is answered in time.
func TestFloods(t *testing.T) {
	w, addr := besieged(t)
	bad := "Nostr " + strings.Repeat("A", 8000)
	forged := w.sign(agent, "POST", "/query", []byte(anything), func(ev *nostr.Event) {
		ev.PubKey, ev.Sig = agent.Pub, strings.Repeat("ab", 64)
		ev.ID = ev.GetID()
	})
	requests := []string{
		head("GET", "/", "%s", "Accept", infoType) + "\r\n",
		head("GET", "/", "%s") + "\r\n",
		head("OPTIONS", "/query", "%s") + "\r\n",
		head("HEAD", "/", "%s") + "\r\n",
		head("GET", "/nothing", "%s") + "\r\n",
		head("GET", "/readyz", "%s") + "\r\n",
		head("GET", "/api/x", "%s", "Authorization", "Bearer bad") + "\r\n",
		head("GET", "/api/x", "%s", "Authorization", forged) + "\r\n",
		head("GET", "/history", "%s", "Authorization", bad) + "\r\n",
		head("GET", "/", "%s", "X", strings.Repeat("y", 12<<10)) + "\r\n",
	}
	stop := make(chan struct{})
	var flood sync.WaitGroup
	var answered atomic.Int64
	for i := range 100 {
		flood.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				request := strings.Replace(requests[(i+n)%len(requests)], "%s", fmt.Sprintf("198.51.100.%d", i%10), 1)
				if _, err := io.WriteString(conn, request); err != nil {
					t.Errorf("%.20q: %v", request, err)
					return
				}
				asked := &http.Request{Method: strings.Fields(request)[0]}
				resp, err := http.ReadResponse(in, asked)
				if err != nil {
					t.Errorf("%.20q: %v", request, err)
					return
				}
				if _, err := readAll(resp); err != nil || resp.StatusCode >= 500 {
					t.Errorf("%.20q: %d, %v", request, resp.StatusCode, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	within(t, "500 answers", func() bool { return answered.Load() >= 500 })
	for range 3 {
		w.everythingAnswers(t, addr, "203.0.113.7")
	}
	close(stop)
	flood.Wait()
}
