package websocket

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/fairness"
)

// hold takes all permits of those who are behind, until the test gives them back.
// Who reads and answers needs them too, so that nothing must be asked
// meanwhile.
func (r *rig) hold() (goOn func()) {
	permits := make([]fairness.Permit, fairness.Processors())
	for i := range permits {
		permits[i].Of = r.permits
		permits[i].Acquire(fairness.Who{Share: "test"})
	}
	return func() {
		for i := range permits {
			permits[i].Release()
		}
	}
}

// lateFilter is found by a tag "a" and fails, or not, at the end of a long
// list.
func lateFilter(n int, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"b%d",`, i)
	}
	return `{"#a":["z"],"#c":[` + b.String() + `"` + last + `"]}`
}

// dearEvent has as many tags as lateFilter has values, and none of them.
func dearEvent(t *testing.T, n, i int, more ...nostr.Tag) *nostr.Event {
	tags := append(nostr.Tags{{"a", "z"}}, more...)
	for j := range n {
		tags = append(tags, nostr.Tag{"c", fmt.Sprint("e", j)})
	}
	return event(t, alice, 1, fmt.Sprint(i), tags...)
}

// What one client's filters cost delays nobody else, and is made up for in the
// order of the events; when it takes too long, the dearest of its subscriptions
// are closed, with a reason, and the others go on.
func TestWhoFallsBehindLosesItsDearestSubscriptions(t *testing.T) {
	const values = 300 // events of more would be too large to be sent at once
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	f := &fake{}
	r := start(t, f, Options{Now: now, Limits: Limits{FramesBurst: 1 << 20}})
	dear, victim := r.dial(t), r.dial(t)
	for i := range 4 {
		dear.send(fmt.Sprintf(`["REQ","dear%d",%s]`, i, strings.Repeat(lateFilter(values, "no")+",", 15)+lateFilter(values, "no")))
		dear.expect(fmt.Sprintf(`["EOSE","dear%d"]`, i))
	}
	dear.send(`["REQ","cheap",{"#a":["z"],"#t":["yes"]}]`)
	dear.expect(`["EOSE","cheap"]`)
	victim.send(`["REQ","v",{"kinds":[1]}]`)
	victim.expect(`["EOSE","v"]`)

	goOn := r.hold()
	var events []*nostr.Event
	for i := range 20 {
		ev := dearEvent(t, values, i, nostr.Tag{"t", "yes"})
		events = append(events, ev)
		f.dispatch(f.put(ev))
		victim.expect(delivered("v", ev)) // while nobody has a turn
	}
	if r.backlog.Load() == 0 {
		t.Error("nothing waits")
	}
	ahead.Store(int64(maxBehind) + int64(time.Second))
	goOn()
	closed, next := map[string]bool{}, 0
	for next < len(events) {
		got := dear.recv()
		if sub, ok := strings.CutPrefix(got, `["CLOSED","dear`); ok && strings.Contains(got, `"error: live events came faster`) {
			closed[sub[:1]] = true
			continue
		}
		if got != delivered("cheap", events[next]) {
			t.Fatalf("got %.200s, want event %d", got, next)
		}
		next++
	}
	if len(closed) == 0 || r.count.get("closed behind") != len(closed) {
		t.Errorf("%d subscriptions were closed, %d counted", len(closed), r.count.get("closed behind"))
	}
	// The connection goes on, and may ask again.
	dear.send(`["REQ","after",{"kinds":[1],"#t":["after"]}]`)
	dear.expect(`["EOSE","after"]`)
	r.count.await(t, "live", 2*len(events))
	if left := r.backlog.Load(); left != 0 {
		t.Errorf("%d bytes are still counted", left)
	}
}

// What waits to be looked at is bounded for each connection and in all, also
// when nobody gets a turn.
func TestWhatIsBehindIsBounded(t *testing.T) {
	const values = 1900
	f := &fake{}
	r := start(t, f, Options{Limits: Limits{QueueBytes: 4 << 20, FramesBurst: 1 << 20}})
	clients := []*client{r.dial(t), r.dial(t), r.dial(t)}
	for _, c := range clients {
		for i := range 8 {
			c.send(fmt.Sprintf(`["REQ","%d",%s]`, i, strings.Repeat(lateFilter(values, "no")+",", 3)+lateFilter(values, "no")))
			c.expect(fmt.Sprintf(`["EOSE","%d"]`, i))
		}
	}
	goOn := r.hold()
	defer goOn()
	ev := dearEvent(t, values, 1)
	for range 200 {
		f.dispatch(f.put(ev))
		if got := r.backlog.Load(); got > maxBacklog+1<<20 {
			t.Fatalf("%d bytes wait", got)
		}
	}
	for i, c := range clients {
		for range 8 {
			if got := c.recv(); !strings.HasPrefix(got, `["CLOSED",`) || !strings.Contains(got, `"error: live events came faster`) {
				t.Errorf("client %d got %s", i, got)
			}
		}
	}
	r.count.await(t, "subscriptions", 0)
	if n := len(r.live.places); n != 0 {
		t.Errorf("the index still has %d places", n)
	}
}

// Who asks for little gets it while others hold as much as there is: the
// largest of their subscriptions are closed, with a reason.
func TestWhoHoldsMostFiltersGivesWay(t *testing.T) {
	r := start(t, &fake{}, Options{
		Limits: Limits{LiveBytes: 1 << 20, LiveShare: 2 << 20, LiveTotal: 4 << 20},
		Shares: fairness.NewShares(fairness.Rules{}),
	})
	from := func(addr string) *client {
		return r.dial(t, func(d *websocket.Dialer) {
			d.NetDial = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}).Dial
		})
	}
	large := func(id string) string {
		return `["REQ","` + id + `",{"#t":[` + list(2000) + `]}]`
	}
	var greedy []*client
	taken, refused := 0, 0
	for i := range 12 {
		c := from(fmt.Sprintf("127.0.2.%d", 1+i%3))
		greedy = append(greedy, c)
		for k := range 5 {
			c.send(large(fmt.Sprint(k)))
			got := c.recv()
			switch {
			case strings.HasPrefix(got, `["EOSE",`):
				taken++
			case strings.HasPrefix(got, `["CLOSED",`) && strings.Contains(got, `"error: `):
				refused++
			default:
				t.Fatalf("got %s", got)
			}
		}
	}
	if used := r.filters.Used(); used > 4<<20 || used < 3<<20 || refused == 0 {
		t.Fatalf("%d bytes are held by %d subscriptions, %d were refused", used, taken, refused)
	}
	victim := from("127.0.3.1")
	for i := range 64 {
		victim.send(fmt.Sprintf(`["REQ","%d",{"kinds":[1],"authors":["%064x"]}]`, i, i))
		victim.expect(fmt.Sprintf(`["EOSE","%d"]`, i))
	}
	if used := r.filters.Used(); used > 4<<20 {
		t.Errorf("%d bytes are held", used)
	}
	gone := r.count.get("closed filters")
	if gone == 0 {
		t.Error("nobody gave way")
	}
	for _, c := range greedy {
		c.ws.Close()
	}
	victim.ws.Close()
	r.count.await(t, "closed", len(greedy)+1)
	if used := r.filters.Used(); used != 0 || len(r.live.places) != 0 {
		t.Errorf("%d bytes and %d places are left", used, len(r.live.places))
	}
}

// list is n short values.
func list(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"v%d",`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// When the relay has stored events that it could not hand over, every
// subscription is closed: none misses one silently.
func TestLostEventsCloseSubscriptions(t *testing.T) {
	f := &fake{}
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	c.expect(`["EOSE","s"]`)
	f.lost()
	c.expect(string(wire.AppendClosed(nil, "s", "error: live events came faster than the relay could deliver them; ask again")))
	r.count.await(t, "subscriptions", 0)
}

// A subscription that is closed while its stored events are sent gets CLOSED in
// place of EOSE, and nothing after it.
func TestClosedBeforeItIsLive(t *testing.T) {
	f := &fake{}
	f.put(event(t, alice, 1, "stored"))
	r := start(t, f, Options{})
	var conn *conn
	f.lastSeq = func(seq int64) int64 {
		conn.feed.list()[0].close(failure("test"))
		return seq
	}
	c := r.dial(t)
	conn = onlyConn(t, r.Server)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	c.expect(`["CLOSED","s","error: test"]`)
	c.nothingBefore()
	r.count.await(t, "subscriptions", 0)
}
