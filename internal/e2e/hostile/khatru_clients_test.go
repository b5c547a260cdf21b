//go:build nightly

package hostile

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// Clients disturb one another.

// Writes had no deadline and happened in the publisher's goroutine: a client
// that does not read stopped every publisher.
func TestKhatruFault_SlowReaderStopsPublishers(t *testing.T) {
	relay := rig.Start(t, "ENGRAMD_LIMITS_MEMORY=128MiB") // 1 MiB may wait for one client
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
	c := rig.Dial(t, relay)
	reader := rig.Dial(t, relay)
	open := reader.MustSubscribe(relaytest.Filter{"kinds": []int{1}})
	slowest := time.Duration(0)
	for i := range int64(200) {
		ev := relaytest.Note(k, rig.Now()-1000+i, fmt.Sprintf("%050000d", i))
		sent := time.Now()
		c.Store(ev)
		slowest = max(slowest, time.Since(sent))
		if got := reader.MustLive(open.Sub); got.ID != ev.ID {
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
	relay := rig.Start(t)
	agent, owner := relaytest.Agent(), relaytest.Owner()
	for i := range int64(30) {
		c := rig.Dial(t, relay)
		ev := relaytest.Memory(agent, owner.Pub, fmt.Sprint("mem/", i), "written and read at once", rig.Now()-100)
		c.MustSend("AUTH", relaytest.AuthEvent(agent, relay.URL, c.Challenge, rig.Now()))
		c.MustSend("EVENT", ev)
		c.MustSend("REQ", "r", relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{agent.Pub}, "#d": []string{ev.Tags.GetD()}})
		for range 2 {
			if f := c.Expect("OK"); !f.OK().True {
				t.Fatalf("%s", f.Raw)
			}
		}
		if f := c.Expect("EVENT"); f.Event() == nil || f.Event().ID != ev.ID {
			t.Fatalf("%s", f.Raw)
		}
		c.Expect("EOSE")
		c.Close()
	}
}

// The listener list was read without its lock: a torn read could pair one
// client's filter with another's socket. Under the race detector this test
// changes subscriptions while others publish; no client may get another's
// events.
func TestKhatruFault_FiltersMeetOtherSockets(t *testing.T) {
	relay := rig.Start(t)
	const clients, rounds = 8, 40
	stop := make(chan struct{})
	var publishing, reading sync.WaitGroup
	for p := range 2 {
		c := rig.Dial(t, relay)
		publishing.Go(func() {
			for n := int64(0); !rig.Stopped(stop); n++ {
				ev := relaytest.Note(relaytest.NewKey(830), rig.Now()-50_000+n, fmt.Sprint(p), rig.Tag("t", fmt.Sprint(n%clients)))
				if _, err := c.Publish(ev); err != nil {
					t.Errorf("publish: %v", err)
					return
				}
			}
		})
	}
	for n := range clients {
		c := rig.Dial(t, relay)
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
	relay := rig.Start(t)
	k := relaytest.NewKey(840)
	w := rig.Dial(t, relay)
	filter := relaytest.Filter{"kinds": []int{1}, "authors": []string{k.Pub}, "limit": 5000}
	want := map[string]bool{}
	marker := relaytest.Note(k, rig.Now(), "marker")
	results := make(chan error, 40)
	for i := range int64(40) { // each subscription races with an event published at the same moment
		ev := relaytest.Note(k, rig.Now()-1000+i, fmt.Sprint("gap ", i))
		before := maps.Clone(want)
		want[ev.ID] = true
		c := rig.Dial(t, relay)
		w.MustSend("EVENT", ev)
		go func() { results <- everythingOnce(c.Client, filter, before, want, marker.ID) }()
		if f := w.Expect("OK"); !f.OK().True {
			t.Fatalf("%s", f.Raw)
		}
	}
	w.Store(marker)
	for range 40 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// The same sub id added a second subscription: each event came twice.
func TestKhatruFault_SameSubIDAddsASecond(t *testing.T) {
	relay := rig.Start(t)
	c := rig.Dial(t, relay)
	k := relaytest.NewKey(841)
	for _, kinds := range [][]int{{1}, {1, 7}, {1}} {
		if a, err := c.Subscribe("same", relaytest.Filter{"kinds": kinds, "authors": []string{k.Pub}}); err != nil || !a.EOSE {
			t.Fatalf("REQ: %v", err)
		}
	}
	evs := []*nostr.Event{relaytest.Note(k, rig.Now()-3, "one"), relaytest.Sign(k, 7, rig.Now()-2, "+"), relaytest.Note(k, rig.Now()-1, "two")}
	rig.Dial(t, relay).Store(evs...)
	got := []string{c.MustLive("same").ID, c.MustLive("same").ID}
	rig.WantIDs(t, "live", got, rig.IDs(evs[0], evs[2]))
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
	relay := rig.Start(t)
	keep := rig.Dial(t, relay)
	keep.MustSubscribe(relaytest.Filter{"kinds": []int{1}})
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
