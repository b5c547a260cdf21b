package e2e

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"
)

// Clients disturb one another.

// Writes had no deadline and happened in the publisher's goroutine: a client
// that does not read stopped every publisher.
func TestKhatruFault_SlowReaderStopsPublishers(t *testing.T) {
	relay := start(t, "ENGRAMD_TIMEOUTS_WRITE_STALL=1s", "ENGRAMD_LIMITS_QUEUE_BYTES=1MiB", "ENGRAMD_LIMITS_QUEUE_MARK=64KiB")
	k := relaytest.NewKey(821)
	conn, err := dialDeaf(relay.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WriteMessage(websocket.TextMessage, []byte(`["REQ","s",{"kinds":[1]}]`)); err != nil {
		t.Fatal(err)
	}
	if _, err := relay.AwaitMetric("engramd_subscriptions", relaytest.Patience, func(n float64) bool { return n == 1 }); err != nil {
		t.Fatal(err)
	}
	c := dial(t, relay)
	reader := dial(t, relay)
	open := reader.subscribe(relaytest.Filter{"kinds": []int{1}})
	slowest := time.Duration(0)
	for i := range int64(200) {
		ev := relaytest.Note(k, now()-1000+i, fmt.Sprintf("%050000d", i))
		sent := time.Now()
		c.store(ev)
		slowest = max(slowest, time.Since(sent))
		if got := reader.live(open.Sub); got.ID != ev.ID {
			t.Fatalf("live beside a slow reader: %s", got.ID)
		}
	}
	if slowest > relaytest.Patience/2 {
		t.Errorf("one publication took %v", slowest)
	}
	if _, err := relay.AwaitMetric("engramd_slow_readers_cut_total", relaytest.Patience, func(n float64) bool { return n >= 1 }); err != nil {
		t.Errorf("the slow reader was not cut off: %v", err)
	}
}

// One goroutine per message, unordered: AUTH then REQ pipelined was refused, a
// read missed its own write. (TestSession_PipelinedInOrder has more.)
func TestKhatruFault_PipelinedFramesAreUnordered(t *testing.T) {
	relay := start(t)
	agent, owner := relaytest.Agent(), relaytest.Owner()
	for i := range int64(30) {
		c := dial(t, relay)
		ev := relaytest.Memory(agent, owner.Pub, fmt.Sprint("mem/", i), "written and read at once", now()-100)
		c.send("AUTH", relaytest.AuthEvent(agent, relay.URL, c.Challenge, now()))
		c.send("EVENT", ev)
		c.send("REQ", "r", relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{agent.Pub}, "#d": []string{ev.Tags.GetD()}})
		for range 2 {
			if f := c.expect("OK"); !f.OK().True {
				t.Fatalf("%s", f.Raw)
			}
		}
		if f := c.expect("EVENT"); f.Event() == nil || f.Event().ID != ev.ID {
			t.Fatalf("%s", f.Raw)
		}
		c.expect("EOSE")
		c.Close()
	}
}

// The listener list was read without its lock: a torn read could pair one
// client's filter with another's socket. Run with -race, this churns
// subscriptions under publishing and wants that nobody gets what is not theirs.
func TestKhatruFault_FiltersMeetOtherSockets(t *testing.T) {
	relay := start(t)
	const clients, rounds = 8, 40
	stop := make(chan struct{})
	var publishing, reading sync.WaitGroup
	for p := range 2 {
		c := dial(t, relay)
		publishing.Go(func() {
			for n := int64(0); !stopped(stop); n++ {
				ev := relaytest.Note(relaytest.NewKey(830), now()-50_000+n, fmt.Sprint(p), tag("t", fmt.Sprint(n%clients)))
				if _, err := c.Publish(ev); err != nil {
					t.Errorf("publish: %v", err)
					return
				}
			}
		})
	}
	for n := range clients {
		c := dial(t, relay)
		reading.Go(func() {
			mine := fmt.Sprint(n)
			for round := range rounds {
				sub := fmt.Sprint(n, "-", round%3)
				a, err := c.Subscribe(sub, relaytest.Filter{"kinds": []int{1}, "#t": []string{mine}, "limit": 3})
				if err != nil {
					t.Errorf("subscribe: %v", err)
					return
				}
				evs := a.Events
				if ev, err := c.Live(sub); err == nil {
					evs = append(evs, ev)
				}
				for _, ev := range evs {
					if ev.Tags.Find("t")[1] != mine {
						t.Errorf("client %s got an event for %s", mine, ev.Tags.Find("t")[1])
					}
				}
				if round%2 == 0 {
					if err := c.Send("CLOSE", sub); err != nil {
						t.Errorf("close: %v", err)
						return
					}
				}
			}
			for _, f := range c.Waiting() {
				if ev := f.Event(); ev != nil && ev.Tags.Find("t")[1] != mine {
					t.Errorf("client %s got %s", mine, f.Raw)
				}
			}
		})
	}
	reading.Wait()
	close(stop)
	publishing.Wait()
}

// An event stored between the query and the registration was never delivered.
func TestKhatruFault_GapBetweenStoredAndLive(t *testing.T) {
	relay := start(t)
	k := relaytest.NewKey(840)
	w := dial(t, relay)
	filter := relaytest.Filter{"kinds": []int{1}, "authors": []string{k.Pub}, "limit": 5000}
	want := map[string]bool{}
	marker := relaytest.Note(k, now(), "marker")
	results := make(chan error, 40)
	for i := range int64(40) { // each subscription races with the event published at the same moment
		ev := relaytest.Note(k, now()-1000+i, fmt.Sprint("gap ", i))
		before := maps.Clone(want)
		want[ev.ID] = true
		c := dial(t, relay)
		w.send("EVENT", ev)
		go func() { results <- everythingOnce(c.Client, filter, before, want, marker.ID) }()
		if f := w.expect("OK"); !f.OK().True {
			t.Fatalf("%s", f.Raw)
		}
	}
	w.store(marker)
	for range 40 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// The same sub id added a second subscription: each event came twice.
func TestKhatruFault_SameSubIDAddsASecond(t *testing.T) {
	relay := start(t)
	c := dial(t, relay)
	k := relaytest.NewKey(841)
	for _, kinds := range [][]int{{1}, {1, 7}, {1}} {
		if a, err := c.Subscribe("same", relaytest.Filter{"kinds": kinds, "authors": []string{k.Pub}}); err != nil || !a.EOSE {
			t.Fatalf("REQ: %v", err)
		}
	}
	evs := []*nostr.Event{relaytest.Note(k, now()-3, "one"), relaytest.Sign(k, 7, now()-2, "+"), relaytest.Note(k, now()-1, "two")}
	dial(t, relay).store(evs...)
	got := []string{c.live("same").ID, c.live("same").ID}
	wantIDs(t, "live", got, ids(evs[0], evs[2]))
	if err := c.Barrier(); err != nil {
		t.Fatal(err)
	}
	if left := c.Waiting(); slices.ContainsFunc(left, func(f relaytest.Frame) bool { return f.Label == "EVENT" }) {
		t.Errorf("delivered again: %s", left[0].Raw)
	}
	if n, err := relay.Metric("engramd_subscriptions"); err != nil || n != 1 {
		t.Errorf("engramd_subscriptions %v, %v", n, err)
	}
}

// OnDisconnect ran twice, and a shutdown with open connections panicked unless
// Start was used.
func TestKhatruFault_DisconnectRunsTwice(t *testing.T) {
	relay := start(t)
	keep := dial(t, relay)
	keep.subscribe(relaytest.Filter{"kinds": []int{1}})
	for i := range 20 {
		c, err := relaytest.Dial(relay.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Subscribe("s", relaytest.Filter{"kinds": []int{1}}); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if err := c.Send("CLOSE", "s"); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
	}
	for _, name := range []string{"engramd_connections", "engramd_subscriptions"} {
		if n, err := relay.AwaitMetric(name, relaytest.Patience, func(n float64) bool { return n == 1 }); err != nil {
			t.Errorf("%s ends at %v: %v", name, n, err)
		}
	}
	if code, took := relay.Stop(); code != 0 {
		t.Errorf("exit code %d after %v with an open connection\n%s", code, took, relay.Log.Text())
	}
	if code, err := keep.CloseCode(); err != nil || code != websocket.CloseGoingAway {
		t.Errorf("close code %d, %v; want 1001", code, err)
	}
}
