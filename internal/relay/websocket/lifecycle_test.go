package websocket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
)

// Shutdown commits and answers what was read, refuses what is new, tells every
// client and waits for all (khatru 0.19.1: it panics unless Start was used, and
// does not wait for writes; docs/khatru.md).
func TestKhatruFault_ShutdownDoesNotWaitForWrites(t *testing.T) {
	f := &fake{held: make(chan struct{}), begun: make(chan string, 10)}
	r := start(t, f, Options{})
	c, idle := r.dial(t), r.dial(t)
	var events []*nostr.Event
	for i := range 5 {
		events = append(events, event(t, alice, 1, fmt.Sprint(i)))
		c.send(eventFrame(events[i]))
		<-f.begun
	}
	c.send(`["REQ","late",{"kinds":[1]}]`)
	r.awaitWaiting(t, 6)
	done := make(chan error, 1)
	go func() { done <- r.Shutdown(context.Background()) }()
	if code, text := idle.closed(); code != websocket.CloseGoingAway || text != "the relay is shutting down" {
		t.Errorf("an idle client was closed with %d %q", code, text)
	}
	_, resp, err := websocket.DefaultDialer.Dial(r.url, nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new connection was answered with %v", err)
	}
	select {
	case err := <-done:
		t.Fatalf("shutdown did not wait for the writes: %v", err)
	default:
	}
	close(f.held)
	for _, ev := range events {
		c.expect(okFrame(ev))
	}
	c.expect(`["CLOSED","late","error: the relay is shutting down"]`)
	if code, _ := c.closed(); code != websocket.CloseGoingAway {
		t.Errorf("closed with %d", code)
	}
	c.ws.Close()
	idle.ws.Close()
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if f.LastSeq() != 5 || f.disconnected() != 2 {
		t.Errorf("stored %d, disconnected %d", f.LastSeq(), f.disconnected())
	}
}

// awaitWaiting waits until n frames of a connection are read and not answered.
func (r *rig) awaitWaiting(t testing.TB, n int) {
	t.Helper()
	deadline := time.After(patience)
	for waiting(r) < n {
		select {
		case <-deadline:
			t.Fatalf("%d frames wait, want %d", waiting(r), n)
		case <-time.After(time.Millisecond):
		}
	}
}

// When its time is over, Shutdown cuts off who is left.
func TestShutdownEndsWithItsContext(t *testing.T) {
	f := &fake{stored: func([]relay.Granted, int64) Stream { return &endless{left: 1 << 30, size: 64 << 10} }}
	r := start(t, f, Options{Limits: Limits{Stall: patience}}) // it does not go by itself
	c := r.dial(t, smallBuffer)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	for r.count.get("stored") < 20 {
		<-r.Server.signal("stored", r.count)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := r.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
	r.count.await(t, "open", 0)
}

// khatru 0.19.1: OnDisconnect runs twice (docs/khatru.md).
func TestKhatruFault_DisconnectRunsTwice(t *testing.T) {
	ends := map[string]func(r *rig, c *client){
		"client closes": func(_ *rig, c *client) {
			c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4000, "bye"), time.Now().Add(patience))
			if code, _ := c.closed(); code != 4000 {
				c.t.Errorf("closed with %d, want the client's own code", code)
			}
		},
		"client vanishes": func(_ *rig, c *client) { c.ws.Close() },
		"reset":           func(_ *rig, c *client) { c.ws.NetConn().(*net.TCPConn).SetLinger(0); c.ws.Close() },
		"breach of the protocol": func(_ *rig, c *client) {
			c.ws.NetConn().Write([]byte{0xff, 0x80, 0, 0, 0, 0})
			if code, _ := c.closed(); code != websocket.CloseProtocolError {
				c.t.Errorf("closed with %d", code)
			}
		},
		"killed": func(r *rig, c *client) { onlyConn(c.t, r.Server).kill() },
		"during a request": func(r *rig, c *client) {
			c.send(`["REQ","s",{"kinds":[1]}]`)
			c.expect(`["EOSE","s"]`)
			c.ws.Close()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			r := start(t, f, Options{})
			end(r, r.dial(t))
			r.count.await(t, "open", 0)
			if n := f.disconnected(); n != 1 {
				t.Errorf("disconnected %d times", n)
			}
		})
	}
}

// What is read for a client ends when he is gone, and not only when the query
// does: else whoever asks and goes leaves work behind without bound. EVENTs
// that he sent before are stored all the same.
func TestReadsEndWithTheirClient(t *testing.T) {
	for name, frame := range map[string]string{"REQ": `["REQ","s",{"kinds":[1]}]`, "COUNT": `["COUNT","s",{"kinds":[1]}]`} {
		for how, leave := range map[string]func(c *client){
			"vanishes": func(c *client) { c.ws.Close() },
			"resets":   func(c *client) { c.ws.NetConn().(*net.TCPConn).SetLinger(0); c.ws.Close() },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				reading, ended := make(chan bool, 1), make(chan error, 1)
				f := &fake{begun: make(chan string, 1)}
				f.reading = func(ctx context.Context) error {
					reading <- true
					<-ctx.Done()
					ended <- ctx.Err()
					return ctx.Err()
				}
				r := start(t, f, Options{})
				c := r.dial(t)
				c.send(frame)
				<-reading
				c.send(eventFrame(event(t, alice, 1, "written before he left")))
				r.awaitWaiting(t, 1)
				leave(c)
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if how == "vanishes" {
					<-f.begun
				}
				r.count.await(t, "open", 0)
			})
		}
	}
}

// A panic anywhere in a connection's work ends that connection with 1011, is
// logged without what it was about, and nothing else notices.
func TestKhatruFault_PanicEndsProcess(t *testing.T) {
	const secret = "content of somebody"
	boom := func() { panic(secret) }
	req := `["REQ","s",{"kinds":[1]}]`
	for name, tc := range map[string]struct {
		arm  func(f *fake)
		send string
		live bool
	}{
		"begin": {arm: func(f *fake) { f.begin = func(context.Context, *nostr.Event) *relay.Answer { boom(); return nil } }, send: "event"},
		"authorize": {arm: func(f *fake) {
			f.authorize = func(context.Context, gate.Surface, nostr.Filter) error { boom(); return nil }
		}, send: req},
		"stored": {arm: func(f *fake) {
			f.stored = func([]relay.Granted, int64) Stream {
				return &gatedStream{pages: make([][]store.Row, 1), next: func(int) { boom() }}
			}
		}, send: req},
		"live": {arm: func(f *fake) { f.canRead = func(gate.Scope, *relay.Delivery) bool { boom(); return false } }, send: req, live: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			tc.arm(f)
			r := start(t, f, Options{})
			c, other := r.dial(t), r.dial(t)
			if tc.send == "event" {
				tc.send = eventFrame(event(t, alice, 1, "x"))
			}
			c.send(tc.send)
			if tc.live {
				c.expect(`["EOSE","s"]`)
				f.dispatch(f.put(event(t, alice, 1, "x")))
			}
			c.expect(`["NOTICE","error: the relay made a mistake"]`)
			if code, _ := c.closed(); code != websocket.CloseInternalServerErr {
				t.Errorf("closed with %d", code)
			}
			c.ws.Close()
			r.count.await(t, "open", 1)
			other.nothingBeforeUnlessRefused()
			if log := r.log.String(); strings.Contains(log, secret) || !strings.Contains(log, "a panic ended a connection") {
				t.Errorf("logged: %s", log)
			}
			if r.Panics() != 1 || f.disconnected() != 1 {
				t.Errorf("%d panics counted, %d disconnected", r.Panics(), f.disconnected())
			}
		})
	}
}

// nothingBeforeUnlessRefused shows that the connection is alive.
func (c *client) nothingBeforeUnlessRefused() {
	c.t.Helper()
	c.send(`rubbish`)
	if got := c.recv(); !strings.HasPrefix(got, `["NOTICE","invalid: `) {
		c.t.Errorf("got %s", got)
	}
}

func TestPanicsInOtherGoroutinesOfAConnection(t *testing.T) {
	for _, where := range []string{"verify", "writer", "disconnect"} {
		t.Run(where, func(t *testing.T) {
			r := start(t, &fake{}, Options{})
			c := r.dial(t)
			func() {
				defer onlyConn(t, r.Server).rescue(where)
				var none []int
				_ = none[len(where)]
			}()
			if code, _ := c.closed(); code != websocket.CloseInternalServerErr {
				t.Errorf("closed with %d", code)
			}
			c.ws.Close()
			r.count.await(t, "open", 0)
			if !strings.Contains(r.log.String(), "index out of range") {
				t.Errorf("the runtime's own words are not logged: %s", r.log)
			}
		})
	}
}

func TestPingsAreAnswered(t *testing.T) {
	r := start(t, &fake{}, Options{})
	c := r.dial(t)
	pong := make(chan string, 1)
	c.ws.SetPongHandler(func(s string) error { pong <- s; return nil })
	c.ws.WriteControl(websocket.PingMessage, []byte("hello"), time.Now().Add(patience))
	c.nothingBefore() // a frame to read behind the pong
	if got := <-pong; got != "hello" {
		t.Errorf("pong %q", got)
	}
}

func TestCompression(t *testing.T) {
	for _, tc := range []struct{ asked, want bool }{{true, true}, {false, false}} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			f := &fake{}
			large := event(t, alice, 1, strings.Repeat("long text ", 2000))
			small := event(t, alice, 1, "short")
			f.put(small)
			f.put(large)
			r := start(t, f, Options{})
			read := 0
			c := r.dial(t, func(d *websocket.Dialer) {
				d.EnableCompression = tc.asked
				d.NetDial = func(network, addr string) (net.Conn, error) {
					conn, err := net.Dial(network, addr)
					return &readCounter{conn, &read}, err
				}
			})
			c.send(`["REQ","s",{"kinds":[1],"#t":["` + strings.TrimSuffix(strings.Repeat(strings.Repeat("long value", 100)+`","`, 5), `","`) + `"]},{"kinds":[1]}]`)
			c.expect(delivered("s", large), delivered("s", small), `["EOSE","s"]`)
			if compressed := read < 5000; compressed != tc.want {
				t.Errorf("%d bytes came, compressed: %v", read, compressed)
			}
		})
	}
}

type readCounter struct {
	net.Conn
	n *int
}

func (c *readCounter) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	*c.n += n
	return n, err
}

// New limits hold for connections that are open.
func TestSetLimits(t *testing.T) {
	r := start(t, &fake{}, Options{})
	c := r.dial(t)
	r.SetLimits(filled(Limits{Subscriptions: 1}))
	c.send(`["REQ","a",{"kinds":[1]}]`, `["REQ","b",{"kinds":[1]}]`)
	c.expect(`["EOSE","a"]`, `["CLOSED","b","error: too many subscriptions (at most 1), close one first"]`)
}
