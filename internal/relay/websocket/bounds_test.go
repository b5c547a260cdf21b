package websocket

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
)

// A client that exceeds a bound is told which, and the connection stays open.
func TestOverABoundThereIsAnAnswer(t *testing.T) {
	r := start(t, &fake{}, Options{Limits: Limits{LiveBytes: 300_000}})
	values := func(n int) string { return `"#t":["` + strings.TrimSuffix(strings.Repeat(`v","`, n), `","`) + `"]` }
	id := strings.Repeat("7", 64)
	padding := strings.Repeat("x", 256<<10)
	for _, tc := range []struct {
		name, send string
		want       []string // beginnings of the answers
	}{
		{"17 filters", `["REQ","s"` + strings.Repeat(`,{"kinds":[1]}`, 17) + `]`, []string{`["CLOSED","s","invalid: too many filters`}},
		{"17 filters in a COUNT", `["COUNT","s"` + strings.Repeat(`,{"kinds":[1]}`, 17) + `]`, []string{`["CLOSED","s","invalid: too many filters`}},
		{"2,001 filter values", `["REQ","s",{` + values(2001) + `}]`, []string{`["CLOSED","s","invalid: `}},
		{"too many live values", `["REQ","s",{` + values(2000) + `},{` + values(1001) + `}]`, []string{`["CLOSED","s","error: too many or too long filters in all subscriptions of this connection`}},
		{"sub id of 65 bytes", `["REQ","` + strings.Repeat("s", 65) + `",{}]`, []string{`["NOTICE","invalid: `}},
		{"empty sub id", `["REQ","",{}]`, []string{`["NOTICE","invalid: `}},
		{"large rubbish", padding + padding, []string{`["NOTICE","invalid: a message may have at most 262144 bytes"]`}},
		{"large EVENT, id first", `["EVENT",{"id":"` + id + `","content":"` + padding + `"}]`,
			[]string{`["OK","` + id + `",false,"invalid: a message may`, `["NOTICE","invalid: a message may`}},
		{"large EVENT, id last", `["EVENT",{"content":"` + padding + padding + `","id":"` + id + `"}]`,
			[]string{`["OK","` + id + `",false,"invalid: a message may`, `["NOTICE","invalid: a message may`}},
		{"large REQ", `["REQ","big",{"search":"` + padding + `"}]`,
			[]string{`["CLOSED","big","invalid: a message may`, `["NOTICE","invalid: a message may`}},
		{"malformed", `{`, []string{`["NOTICE","invalid: `}},
		{"not UTF-8", "[\"REQ\",\"a\xff\",{}]", []string{`["NOTICE","invalid: `}},
		{"large NEG-OPEN", `["NEG-OPEN","big",{},"` + padding + `"]`,
			[]string{`["NEG-ERR","big","invalid: a message may`, `["NOTICE","invalid: a message may`}},
		{"unknown", `["HELLO","s",{},"61"]`, []string{`["NOTICE","invalid: unknown message \"HELLO\"`}},
		{"malformed NEG-OPEN", `["NEG-OPEN","s",{},61`, []string{`["NEG-ERR","s","invalid: `}},
		{"NEG-OPEN without an id", `["NEG-OPEN",{},"61"]`, []string{`["NOTICE","invalid: a subscription id must be a string`}},
		{"malformed NEG-CLOSE", `["NEG-CLOSE","s",1]`, []string{`["NOTICE","invalid: `}},
		{"malformed filter", `["REQ","s",{"kind":[1]}]`, []string{`["CLOSED","s","invalid: filter key \"kind\"`}},
		{"malformed event", `["EVENT",{"id":"` + id + `"}]`, []string{`["OK","` + id + `",false,"invalid: `}},
		{"malformed AUTH", `["AUTH",{"id":"` + id + `"}]`, []string{`["OK","` + id + `",false,"invalid: `}},
		{"malformed CLOSE", `["CLOSE","s",1]`, []string{`["NOTICE","invalid: `}},
		{"empty", ``, []string{`["NOTICE","invalid: `}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := r.dial(t)
			c.send(tc.send)
			for _, want := range tc.want {
				if got := c.recv(); !strings.HasPrefix(got, want) {
					t.Errorf("answer %.200s, want %s", got, want)
				}
			}
			c.nothingBefore()
		})
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	r := start(t, &fake{}, Options{})
	c := r.dial(t)
	for i := range 64 {
		c.send(fmt.Sprintf(`["REQ","s%d",{"kinds":[1]}]`, i))
		c.expect(fmt.Sprintf(`["EOSE","s%d"]`, i))
	}
	c.send(`["REQ","one more",{"kinds":[1]}]`)
	c.expect(`["CLOSED","one more","error: too many subscriptions (at most 64), close one first"]`)
	c.send(`["REQ","s0",{"kinds":[2]}]`, `["CLOSE","s1"]`, `["REQ","one more",{"kinds":[1]}]`)
	c.expect(`["EOSE","s0"]`, `["EOSE","one more"]`)
	r.count.await(t, "subscriptions", 64)
	c.ws.Close()
	r.count.await(t, "subscriptions", 0)
	if len(r.live.places) != 0 {
		t.Errorf("the index still has %d places", len(r.live.places))
	}
}

func TestBinaryMessagesAreRefused(t *testing.T) {
	r := start(t, &fake{}, Options{})
	c := r.dial(t)
	c.ws.WriteMessage(websocket.BinaryMessage, []byte(`["REQ","a",{}]`))
	c.expect(`["NOTICE","invalid: messages must be text, not binary"]`)
	c.nothingBefore()
}

// A message far beyond the bound is not read to its end: the client is told and
// the connection closed with 1009. The size counts after decompression.
func TestHugeMessagesEndTheConnection(t *testing.T) {
	r := start(t, &fake{}, Options{})
	huge := strings.Repeat("x", 4<<20)
	for name, compress := range map[string]bool{"plain": false, "compressed": true} {
		c := r.dial(t, func(d *websocket.Dialer) { d.EnableCompression = compress })
		c.ws.EnableWriteCompression(compress)
		go c.ws.WriteMessage(websocket.TextMessage, []byte(huge))
		if compress {
			c.expect(`["NOTICE","invalid: a message may have at most 262144 bytes"]`)
		}
		if code, text := c.closed(); code != websocket.CloseMessageTooBig {
			t.Errorf("%s: closed with %d %s", name, code, text)
		}
	}
	c := r.dial(t, func(d *websocket.Dialer) { d.EnableCompression = true })
	c.send(strings.Repeat("x", 300<<10)) // a few hundred bytes on the wire
	c.expect(`["NOTICE","invalid: a message may have at most 262144 bytes"]`)
	c.nothingBefore()
}

// Above its frame rate a client is not refused but not read.
func TestFrameRateStopsReading(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := start(t, &fake{}, Options{Limits: Limits{FramesBurst: 5, FramesRate: 1}, Now: func() time.Time { return now }})
	c := r.dial(t)
	for i := range 20 {
		c.send(fmt.Sprintf(`["REQ","%d",{"ids":[]}]`, i))
	}
	for i := range 5 {
		c.expect(fmt.Sprintf(`["EOSE","%d"]`, i))
	}
	r.count.await(t, "paused", 1)
	if n := r.count.get("frame REQ"); n != 5 {
		t.Errorf("%d frames were executed, want 5", n)
	}
}

func TestPingsCountInTheFrameRate(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := start(t, &fake{}, Options{Limits: Limits{FramesBurst: 5, FramesRate: 1}, Now: func() time.Time { return now }})
	c := r.dial(t)
	for range 20 {
		c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(patience))
	}
	r.count.await(t, "paused", 1)
}

// What waits for one connection is bounded: a client that sends without end
// while the relay cannot answer is no longer read.
func TestWaitingFramesStopReading(t *testing.T) {
	for name, lim := range map[string]Limits{"frames": {WaitingFrames: 10}, "bytes": {WaitingBytes: 10 * 900}} {
		t.Run(name, func(t *testing.T) {
			f := &fake{held: make(chan struct{}), begun: make(chan string, 1000)}
			r := start(t, f, Options{Limits: lim})
			c := r.dial(t)
			var events []*nostr.Event
			for i := range 100 {
				events = append(events, event(t, alice, 1, fmt.Sprintf("%050d", i)))
				c.send(eventFrame(events[i]))
			}
			for range 8 {
				<-f.begun
			}
			if in := waiting(r); in > 12 {
				t.Errorf("%d frames wait", in)
			}
			close(f.held)
			for _, ev := range events {
				c.expect(okFrame(ev))
			}
		})
	}
}

func waiting(r *rig) (most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		c.in.mu.Lock()
		most = max(most, c.in.frames)
		c.in.mu.Unlock()
	}
	return most
}

func TestConnectionsAreBounded(t *testing.T) {
	ex := fairness.Rules{Exempt: true}
	for _, tc := range []struct {
		name    string
		lim     Limits
		rules   fairness.Rules
		addrs   []string
		refused int // index of the first refused
		status  int
	}{
		{"total", Limits{Connections: 2}, ex, []string{"127.0.0.1", "127.0.0.1", "127.0.0.1"}, 2, 503},
		{"IPv4 address", Limits{PerAddress: 2}, ex, []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1"}, 3, 429},
		{"IPv4 in IPv6", Limits{PerAddress: 1}, ex, []string{"192.0.2.1", "::ffff:192.0.2.1"}, 1, 429},
		{"IPv6 /64", Limits{PerAddress: 1}, ex, []string{"2001:db8::1", "2001:db8:0:1::1", "2001:db8::2"}, 2, 429},
		{"loopback is exempt", Limits{PerAddress: 1}, ex, []string{"127.0.0.1", "127.0.0.1", "::1", "::1"}, 4, 0},
		{"IPv6 /48", Limits{PerAddress: 1}, ex, []string{"2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1", "2001:db8:0:4::1", "2001:db8:1:5::1", "2001:db8:0:5::1"}, 5, 429},
		{"loopback of a public relay", Limits{PerAddress: 1}, fairness.Rules{}, []string{"127.0.0.1", "127.0.0.2", "127.0.0.1"}, 2, 429},
		{"cannot be told apart", Limits{PerAddress: 1}, fairness.Rules{Common: true}, []string{"127.0.0.1", "127.0.0.1", "10.0.0.1", "10.0.0.1", "192.0.2.1", "192.0.2.1"}, 5, 429},
		{"no bound", Limits{PerAddress: -1, Connections: -1}, ex, []string{"192.0.2.1", "192.0.2.1"}, 2, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, &fake{}, Options{Limits: tc.lim, Shares: fairness.NewShares(tc.rules), Addr: func(r *http.Request) netip.Addr {
				return netip.MustParseAddr(r.URL.Query().Get("from"))
			}})
			var open []*websocket.Conn
			for i, from := range tc.addrs {
				ws, resp, err := websocket.DefaultDialer.Dial(r.url+"/?from="+from, nil)
				if i < tc.refused {
					if err != nil {
						t.Fatalf("connection %d: %v", i, err)
					}
					open = append(open, ws)
				} else if err == nil || resp == nil || resp.StatusCode != tc.status {
					t.Fatalf("connection %d: %v", i, err)
				}
			}
			// A place is free again when its connection has ended.
			open[0].Close()
			r.count.await(t, "closed", 1)
			ws, _, err := websocket.DefaultDialer.Dial(r.url+"/?from="+tc.addrs[0], nil)
			if err != nil {
				t.Fatalf("after one has left: %v", err)
			}
			for _, ws := range append(open, ws) {
				ws.Close()
			}
			r.count.await(t, "closed", len(open)+1)
			if len(r.admission.byAddr) != 0 {
				t.Errorf("addresses are still counted: %v", r.admission.byAddr)
			}
		})
	}
}

// A client that sends one byte at a time is within its rights.
func TestByteByByte(t *testing.T) {
	r := start(t, &fake{}, Options{})
	var raw net.Conn
	c := r.dial(t, func(d *websocket.Dialer) {
		d.NetDial = func(network, addr string) (net.Conn, error) {
			conn, err := net.Dial(network, addr)
			raw = conn
			return conn, err
		}
	})
	ev := event(t, alice, 1, "slowly")
	text := eventFrame(ev)
	frame := append([]byte{0x81, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}, text...)
	for i := range frame {
		if _, err := raw.Write(frame[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	c.expect(okFrame(ev))
}
