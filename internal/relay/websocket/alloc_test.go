package websocket

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
)

// Allocations of the hot paths. They are counted, not timed, so that these
// tests mean the same on every machine; with the race detector pools lose some
// of what they hold.
const (
	recipients    = 20
	maxPerEvent   = 4  // whatever the number of recipients
	maxPerEventRD = 20 // with the race detector
	maxDelivery   = 1  // for each recipient: its queue
	maxDeliveryRD = 4
)

// audience is n clients with one subscription that the event matches. They
// never read: their sockets have room for what the tests send.
func audience(tb testing.TB, r *rig, n int) relay.Delivery {
	tb.Helper()
	var conns []net.Conn
	for range n {
		conns = append(conns, idleConn(tb, r))
	}
	tb.Cleanup(func() {
		for _, c := range conns {
			c.Close()
		}
	})
	ev := event(tb, alice, 30174, "x", nostr.Tag{"d", strings.Repeat("1", 64)}, nostr.Tag{"p", pubkeyOf(tb, alice)})
	return relay.Delivery{Event: ev, JSON: wire.AppendEvent(nil, ev)}
}

func TestDeliveryAllocations(t *testing.T) {
	r := start(t, &fake{}, Options{Metrics: noMetrics})
	d := []relay.Delivery{audience(t, r, recipients)}
	got := testing.AllocsPerRun(50, func() { r.Server.deliver(d) })
	most := float64(maxPerEvent + recipients*maxDelivery)
	if testing.Short() {
		most = maxPerEventRD + recipients*maxDeliveryRD
	}
	if got > most {
		t.Errorf("an event to %d clients allocates %v times, at most %v are needed", recipients, got, most)
	}
}

// deafConn is a connection of s without a socket: what is sent to it goes
// nowhere.
func deafConn(s *Server) *conn {
	c := &conn{srv: s}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.out.init(&s.queued, &shareQueue{})
	c.out.closing = true
	who := fairness.Who{Share: "192.0.2.1", Conn: s.o.Shares.Enter(netip.Addr{}).Conn}
	c.who.Store(&who)
	c.feed.c = c
	c.filters = s.filters.Open(who, c.feed.giveWay)
	s.live.enter(&c.feed)
	return c
}

// listen opens a live subscription on c.
func listen(c *conn, filters ...nostr.Filter) *subscription {
	var granted []relay.Granted
	for _, f := range filters {
		granted = append(granted, relay.Granted{Filter: f})
	}
	sub := newSubscription(c, "s", granted)
	sub.live = true
	c.feed.add(sub)
	return sub
}

// crowded is a server with n connections that ask for one author each, and an
// event that one of them wants.
func crowded(tb testing.TB, n int) (*Server, []relay.Delivery) {
	tb.Helper()
	s := newServer(&fake{}, Options{Limits: filled(Limits{}), Metrics: noMetrics})
	tb.Cleanup(s.verifier.close)
	for i := range n {
		listen(deafConn(s), nostr.Filter{Kinds: []int{1}, Authors: []string{fmt.Sprintf("%064x", i)}})
	}
	ev := &nostr.Event{Kind: 1, PubKey: fmt.Sprintf("%064x", n/2), Tags: nostr.Tags{{"t", "x"}, {"p", strings.Repeat("a", 64)}, {"e", "y"}}}
	return s, []relay.Delivery{{Event: ev, JSON: []byte("{}"), Seq: 1}}
}

func TestMatchAllocations(t *testing.T) {
	s, batch := crowded(t, 1000)
	var r round
	r.event.of(s.live.hash, batch[0].Event)
	n := newNews(&r.event, &batch[0], 0, time.Now())
	s.live.concerned(&r, &r.event) // its lists grow once
	if got := testing.AllocsPerRun(100, func() {
		s.live.concerned(&r, &r.event)
		comparisons := 0
		if len(r.tasks) != 1 || !r.feeds[0].list()[0].wants(n, &comparisons) {
			t.Fatalf("%d connections found", len(r.tasks))
		}
	}); got != 0 {
		t.Errorf("matching an event allocates %v times", got)
	}
}

// An answer that the socket takes costs what is queued, and no goroutine.
func TestAnswerAllocations(t *testing.T) {
	r := start(t, &fake{}, Options{Metrics: noMetrics})
	idleConn(t, r)
	c := onlyConn(t, r.Server)
	text := []byte(`["OK","` + strings.Repeat("0", 64) + `",true,""]`)
	most := 1.0
	if testing.Short() {
		most = 4
	}
	if n := testing.AllocsPerRun(100, func() {
		c.say(text)
		c.flush()
	}); n > most {
		t.Errorf("an answer allocates %v times, at most %v are needed", n, most)
	}
}
