package proof

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

// times are the durations of repeated operations.
type times []time.Duration

// at returns a percentile.
func (d times) at(percent int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)].Round(10 * time.Microsecond)
}

const writers = 6

// publish sends events on several connections without waiting for answers.
func (f field) publish(t *testing.T, n int) (stored int, took time.Duration) {
	t.Helper()
	var all [writers][]*event
	for i := range all {
		k := relaytest.NewKey(uint64(500 + i))
		for j := range n / writers {
			all[i] = append(all[i], relaytest.Note(k, time.Now().Unix()-int64(j), fmt.Sprintf("%0300d", j)))
		}
	}
	var clients [writers]*relaytest.Client
	for i := range clients {
		clients[i] = f.dial(t, i)
	}
	began := time.Now()
	var group sync.WaitGroup
	for i, c := range clients {
		group.Go(func() {
			for _, ev := range all[i] {
				if err := c.Send("EVENT", ev); err != nil {
					t.Error(err)
					return
				}
			}
		})
		group.Go(func() {
			for range all[i] {
				if frame, err := c.Wait(relaytest.Labelled("OK")); err != nil || !frame.OK().True {
					t.Errorf("%s %v", frame.Raw, err)
					return
				}
			}
		})
	}
	group.Wait()
	return n / writers * writers, time.Since(began)
}

// query requests a hundred events repeatedly, on several connections at once.
func (f field) query(t *testing.T, conns, each int) (perSecond float64) {
	t.Helper()
	filter := relaytest.Filter{"kinds": []int{relaytest.KindNote}, "authors": []string{relaytest.NewKey(500).Pub}, "limit": 100}
	var clients []*relaytest.Client
	for i := range conns {
		clients = append(clients, f.dial(t, i))
	}
	began := time.Now()
	var group sync.WaitGroup
	for _, c := range clients {
		group.Go(func() {
			for range each {
				if a, err := c.Query(filter); err != nil || len(a.Events) != 100 {
					t.Errorf("%d events, %s %v", len(a.Events), a.Closed, err)
					return
				}
			}
		})
	}
	group.Wait()
	return float64(conns*each) / time.Since(began).Seconds()
}

// readHead reads the newest version of one address, sequentially.
func (f field) readHead(t *testing.T, n int) (took times) {
	t.Helper()
	k, c := relaytest.NewKey(600), f.dial(t, 0)
	mustStore(t, c, relaytest.Sign(k, 30023, time.Now().Unix(), "a head", []string{"d", "x"}))
	filter := relaytest.Filter{"kinds": []int{30023}, "authors": []string{k.Pub}, "#d": []string{"x"}}
	for range n {
		began := time.Now()
		if a, err := c.Query(filter); err != nil || len(a.Events) != 1 {
			t.Fatalf("%d events, %s %v", len(a.Events), a.Closed, err)
		}
		took = append(took, time.Since(began))
	}
	return took
}

// live measures from the sending of an event at the first relay to its arrival
// at a subscription at the last.
func (f field) live(t *testing.T, n int) (took times) {
	t.Helper()
	k, writer, reader := relaytest.NewKey(601), f.dial(t, 0), f.dial(t, len(f.relays)-1)
	a, err := reader.Subscribe("live", relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{relaytest.KindNote}})
	if err != nil || !a.EOSE {
		t.Fatal(a.Closed, err)
	}
	for i := range n {
		ev := note(k, fmt.Sprint("live ", i))
		began := time.Now()
		if err := writer.Send("EVENT", ev); err != nil {
			t.Fatal(err)
		}
		if got, err := reader.Live("live"); err != nil || got.ID != ev.ID {
			t.Fatal(got, err)
		}
		took = append(took, time.Since(began))
		if _, err := writer.Wait(relaytest.OKFor(ev.ID)); err != nil {
			t.Fatal(err)
		}
	}
	return took
}

// besideFlood measures one write after the other, and one read, at the last relay,
// while the clients of the first send as fast as it takes.
func (f field) besideFlood(t *testing.T, long time.Duration) (write, read times) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	for i := range 4 * writers {
		k, c := relaytest.NewKey(uint64(700+i)), f.dial(t, 0)
		group.Go(func() {
			for j := 0; ctx.Err() == nil; j++ {
				if err := c.Send("EVENT", relaytest.Note(k, time.Now().Unix()-int64(j), fmt.Sprintf("%0300d", j))); err != nil {
					return
				}
			}
		})
		group.Go(func() {
			for ctx.Err() == nil {
				if _, err := c.Wait(relaytest.Labelled("OK")); err != nil {
					return
				}
			}
		})
	}
	k, c := relaytest.NewKey(699), f.dial(t, len(f.relays)-1)
	c.Patience = long
	for i := 0; ctx.Err() == nil; i++ {
		ev := relaytest.Sign(k, 30023, time.Now().Unix()-1000+int64(i), fmt.Sprint(i), []string{"d", "x"})
		began := time.Now()
		mustStore(t, c, ev)
		write = append(write, time.Since(began))
		began = time.Now()
		if a, err := c.Query(relaytest.Filter{"kinds": []int{30023}, "authors": []string{k.Pub}, "#d": []string{"x"}}); err != nil || len(a.Events) != 1 {
			t.Fatalf("%d events, %s %v", len(a.Events), a.Closed, err)
		}
		read = append(read, time.Since(began))
	}
	return write, read
}
