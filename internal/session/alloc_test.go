package session

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/wire"
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
	r := start(t, &fake{}, Options{Metrics: noMetrics{}})
	d := []relay.Delivery{audience(t, r, recipients)}
	got := testing.AllocsPerRun(50, func() { r.Server.deliver(d) })
	most := float64(maxPerEvent + recipients*maxDelivery)
	if raceEnabled {
		most = maxPerEventRD + recipients*maxDeliveryRD
	}
	if got > most {
		t.Errorf("an event to %d clients allocates %v times, at most %v are needed", recipients, got, most)
	}
}

// crowd is an index of n subscriptions to one author each.
func crowd(n int) (x *index, ev *nostr.Event) {
	x = &index{}
	for i := range n {
		filter := nostr.Filter{Kinds: []int{1}, Authors: []string{fmt.Sprintf("%064x", i)}}
		s := &subscription{order: uint64(i), filters: []matcher{newMatcher(relay.Granted{Filter: filter})}}
		s.keys = keysOf(s.filters)
		x.add(s)
	}
	return x, &nostr.Event{Kind: 1, PubKey: fmt.Sprintf("%064x", n/2), Tags: nostr.Tags{{"t", "x"}, {"p", strings.Repeat("a", 64)}}}
}

func TestMatchAllocations(t *testing.T) {
	x, ev := crowd(1000)
	var f found
	x.concerned(&f, ev) // its lists grow once
	if n := testing.AllocsPerRun(100, func() {
		x.concerned(&f, ev)
		if len(f.subs) != 1 || !f.subs[0].filters[0].matches(ev) {
			t.Fatalf("%d subscriptions found", len(f.subs))
		}
	}); n != 0 {
		t.Errorf("matching an event allocates %v times", n)
	}
}

// An answer that the socket takes costs what is queued, and no goroutine.
func TestAnswerAllocations(t *testing.T) {
	r := start(t, &fake{}, Options{Metrics: noMetrics{}})
	idleConn(t, r)
	c := onlyConn(t, r.Server)
	text := []byte(`["OK","` + strings.Repeat("0", 64) + `",true,""]`)
	most := 1.0
	if raceEnabled {
		most = 4
	}
	if n := testing.AllocsPerRun(100, func() {
		c.say(text)
		c.flush()
	}); n > most {
		t.Errorf("an answer allocates %v times, at most %v are needed", n, most)
	}
}

// BenchmarkMatch finds the one of many subscriptions that an event concerns.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, ev := crowd(n)
			var f found
			b.ReportAllocs()
			for b.Loop() {
				x.concerned(&f, ev)
				if len(f.subs) != 1 || !f.subs[0].filters[0].matches(ev) {
					b.Fatal("not found")
				}
			}
		})
	}
}
