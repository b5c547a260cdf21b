package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/client/clienttest"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
)

func TestCount(t *testing.T) {
	tests := map[string]struct {
		nips, answer string // the answer to a COUNT but for its label and subscription
		want         int64
		fails        error
	}{
		"exact":        {"[45]", `["COUNT",%q,{"count":7}]`, 7, nil},
		"approximate":  {"[45]", `["COUNT",%q,{"count":7,"approximate":true}]`, 0, ErrNoCount},
		"not listed":   {"[1]", `["COUNT",%q,{"count":7}]`, 0, ErrNoCount},
		"refused":      {"[45]", `["CLOSED",%q,"error: no"]`, 0, ErrRefused},
		"negative":     {"[45]", `["COUNT",%q,{"count":-1}]`, 0, ErrMisbehaved},
		"no number":    {"[45]", `["COUNT",%q,{}]`, 0, ErrMisbehaved},
		"not an event": {"[45]", `["EVENT",%q,{}]`, 0, ErrTimeout},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			url := clienttest.Start(t, &clienttest.Fake{
				HTTP: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"supported_nips":%s}`, tt.nips) },
				Serve: func(c *clienttest.Conn) {
					for f, ok := c.Next(wire.LabelCount); ok; f, ok = c.Next(wire.LabelCount) {
						c.Sendf(tt.answer, f.SubID)
					}
				}})
			scaled(t, func(timeout func(*Options)) error {
				p := peerFor(t, who(t, "agent"), url, timeout)
				if n, err := p.Count(t.Context(), anyNote); n != tt.want || !errors.Is(err, tt.fails) {
					return fmt.Errorf("%d, %w; want %d, %v", n, err, tt.want, tt.fails)
				}
				return nil
			})
		})
	}
}

// A relay that counts for authenticated readers only counts after AUTH.
func TestCountAtARelay(t *testing.T) {
	home := bridgetest.Start(t).URL
	m := agentOf(t, "agent", "owner", []string{home}, nil)
	mustSet(t, m, "mem/a", "one")
	mustSet(t, m, "mem/b", "two")
	for _, p := range m.c.Peers() {
		if n, err := p.Count(t.Context(), m.all()); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		p.Close() // the client's
	}
	if _, _, err := m.Get(t.Context(), "mem/a"); err != nil {
		t.Error(err)
	}
}

// A question to a relay that only the agent's list names contains neither owner
// nor ids, and the client authenticates only where the relay demands it.
func TestPeersThatAreListed(t *testing.T) {
	now := time.Now().Unix()
	mine, other := engramAt(t, "agent", "owner", "mem/a", "text", now-5), engramAt(t, "agent", "second", "mem/b", "text", now-4)
	for _, gated := range []bool{false, true} {
		var mu sync.Mutex
		var heard []string
		hear := func(f nostr.Filter) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, fmt.Sprint(f))
		}
		far := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
			known := !gated
			if gated {
				c.Sendf(`["AUTH","who"]`)
			}
			for f, ok := c.Read(); ok; f, ok = c.Read() {
				switch {
				case f.Label == wire.LabelAuth:
					known = true
					c.Send(wire.AppendOK(nil, f.Event.ID, true, ""))
				case f.Label == wire.LabelReq && !known:
					hear(f.Filters[0])
					c.Sendf(`["CLOSED",%q,"auth-required: who?"]`, f.SubID)
				case f.Label == wire.LabelReq:
					hear(f.Filters[0])
					for _, ev := range []*nostr.Event{mine, other} {
						if f.Filters[0].Matches(ev) {
							c.Event(f.SubID, ev)
						}
					}
					c.Send(wire.AppendEOSE(nil, f.SubID, "finish"))
				}
			}
		}})
		directory := clienttest.StartHoard(t, &clienttest.Hoard{Events: []*nostr.Event{relayList(t, now, nostr.Tag{"r", far})}})
		m := ownerOf(t, "agent", "owner", []string{directory}, nil)
		if err := m.c.Discover(t.Context(), m.Agent()); err != nil {
			t.Fatal(err)
		}
		p := m.c.Peers()[1]
		var came []string
		take := func(ev *nostr.Event) error { came = append(came, ev.ID); return nil }
		if _, err := p.Pages(t.Context(), m.all(), take); err != nil || !slices.Equal(came, []string{mine.ID}) {
			t.Errorf("gated %v: %v, %v", gated, came, err)
		}
		came = nil
		if _, err := p.Fetch(t.Context(), m.all(), idsOf([]*nostr.Event{mine, other}), take); err != nil || !slices.Equal(came, []string{mine.ID}) {
			t.Errorf("gated %v: fetched %v, %v", gated, came, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		came = nil
		if err := p.Live(ctx, m.all(), take, cancel); !errors.Is(err, context.Canceled) || !slices.Equal(came, []string{mine.ID}) {
			t.Errorf("gated %v: live %v, %v", gated, came, err)
		}
		if _, err := p.Count(t.Context(), m.all()); !errors.Is(err, ErrNoCount) {
			t.Error(err)
		}
		if _, _, err := p.Reconcile(t.Context(), m.all(), nil); !errors.Is(err, ErrNoSync) {
			t.Error(err)
		}
		mu.Lock()
		if told := strings.Join(heard, "\n"); strings.Contains(told, m.Owner()) != gated || strings.Contains(told, mine.Tags.GetD()) {
			t.Errorf("gated %v: it was told %s", gated, told)
		}
		mu.Unlock()
	}
}

// While the list of relays is looked up, the known relays are asked.
func TestDiscoverKeepsWhatIsKnown(t *testing.T) {
	far := clienttest.StartHoard(t, &clienttest.Hoard{})
	var c *Client
	during := make(chan []string, 2)
	directory := clienttest.StartHoard(t, &clienttest.Hoard{Hints: true, Events: []*nostr.Event{relayList(t, time.Now().Unix(), nostr.Tag{"r", far})},
		Asking: func(int) { during <- c.Relays() }})
	c = clientFor(t, who(t, "owner"), []string{directory}, nil)
	for range 2 {
		if err := c.Discover(t.Context(), who(t, "agent").PubKey()); err != nil {
			t.Fatal(err)
		}
	}
	<-during
	if known := <-during; !slices.Equal(known, []string{directory, far}) {
		t.Errorf("asked while looking: %v", known)
	}
}

// A write returns its event, and which relays accepted it.
func TestWrote(t *testing.T) {
	home := bridgetest.Start(t).URL
	m := agentOf(t, "agent", "owner", []string{bridgetest.Down(t), home}, nil)
	wrote, put, err := m.Set(t.Context(), "mem/a", "text", SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	gone, removed, err := m.Remove(t.Context(), "mem/a", false)
	if err != nil {
		t.Fatal(err)
	}
	for id, status := range map[string]Status{wrote.ID: put, gone.ID: removed} {
		if status.Wrote == nil || status.Wrote.ID != id || !slices.Equal(status.Took(), []string{home}) {
			t.Errorf("%v, taken by %v", status.Wrote, status.Took())
		}
	}
	if _, status, err := m.Set(t.Context(), "mem/a", "text", SetOptions{Base: Hash("else")}); !errors.Is(err, ErrConflict) || status.Wrote != nil {
		t.Errorf("%v; wrote %v", err, status.Wrote)
	}
}
