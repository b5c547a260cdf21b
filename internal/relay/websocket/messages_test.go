package websocket

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/fairness"
)

// beginning is a connection of an address on which the beginning of a message
// was sent, and its end never comes.
func (r *rig) beginning(t *testing.T, addr string, size int) net.Conn {
	t.Helper()
	var raw net.Conn
	c := r.dial(t, func(d *websocket.Dialer) {
		d.NetDial = func(network, to string) (net.Conn, error) {
			conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}).Dial(network, to)
			raw = conn
			return conn, err
		}
	})
	go func() { // what the relay says is read
		for {
			if _, err := c.read(); err != nil {
				return
			}
		}
	}()
	head := []byte{0x81, 0x80 | 127, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 1, 2, 3, 4} // 262,143 bytes are to come
	if _, err := raw.Write(append(head, make([]byte, size)...)); err != nil {
		t.Fatal(err)
	}
	return raw
}

// Memory of messages that are being read is bounded for each share and in all,
// also when their ends never come; who holds most is cut off when others wait,
// and short messages of others are read all the while.
func TestMessagesBeingReadAreBounded(t *testing.T) {
	lim := Limits{WaitingShare: 1 << 20, WaitingTotal: 2 << 20}
	r := start(t, &fake{}, Options{Limits: lim, Shares: fairness.NewShares(fairness.Rules{})})
	r.claims.Store(int64(time.Hour)) // those that hold what there is wait for more
	for i := range 60 {
		r.beginning(t, fmt.Sprintf("127.0.4.%d", 1+i%3), 200<<10)
	}
	deadline := time.After(patience)
	for r.messages.Used() < 2<<20-256<<10 {
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Fatalf("%d bytes are held", r.messages.Used())
		}
	}
	victim := r.dial(t, func(d *websocket.Dialer) {
		d.NetDial = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.5.1")}}).Dial
	})
	for i := range 20 {
		victim.send(fmt.Sprintf(`["REQ","%d",{"kinds":[1]}]`, i))
		victim.expect(fmt.Sprintf(`["EOSE","%d"]`, i))
	}
	if n := r.count.get("cut memory"); n != 0 {
		t.Errorf("%d clients were cut off for short messages", n)
	}
	r.claims.Store(int64(claimPatience))
	ev := event(t, alice, 2, strings.Repeat("x", 200<<10))
	victim.send(eventFrame(ev))
	victim.expect(okFrame(ev))
	if n := r.count.get("cut memory"); n == 0 || n > 10 {
		t.Errorf("%d clients were cut off for one long message", n)
	}
	if used := r.messages.Used(); used > 2<<20+20*spareOfPot {
		t.Errorf("%d bytes are held", used)
	}
}

// spareOfPot is what a connection may always hold.
const spareOfPot = 4 << 10

// What is counted for a message is not less than it holds when it is parsed.
func TestWeightOfMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector holds memory of its own")
	}
	tags := func(one string, n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	frame := func(tags string) string {
		return `["EVENT",{"id":"` + strings.Repeat("a", 64) + `","pubkey":"` + strings.Repeat("b", 64) + `","created_at":1,"kind":1,"tags":[` + tags +
			`],"content":"","sig":"` + strings.Repeat("c", 128) + `"}]`
	}
	for name, text := range map[string]string{
		"small event":  frame(`["e","` + strings.Repeat("d", 64) + `"]`),
		"short tags":   frame(tags(`[""]`, 40_000)),
		"long tag":     frame(`["t",` + tags(`""`, 60_000) + `]`),
		"tags of two":  frame(tags(`["b","1234567890"]`, 12_000)),
		"2,000 values": `["REQ","s",{"#t":[` + tags(`""`, 2000) + `]}]`,
		"16 filters":   `["REQ","s",` + tags(`{"#t":[`+tags(`"abc"`, 1990)+`]}`, 16) + `]`,
	} {
		const n = 8
		jobs := make([]*job, n)
		before := heap()
		counted := 0
		for i := range jobs {
			j := &job{raw: []byte(text)}
			counted += j.weight()
			if j.frame, j.err = wire.ParseFrame(j.raw, wire.Limits{}); j.err != nil {
				t.Fatalf("%s: %v", name, j.err)
			}
			j.raw = nil
			jobs[i] = j
		}
		held := heap() - before
		if held > int64(counted) {
			t.Errorf("%s: %d bytes are held, %d counted", name, held/n, counted/n)
		}
		runtime.KeepAlive(jobs)
		t.Logf("%s: %d bytes are held, %d counted", name, held/n, counted/n)
	}
}
