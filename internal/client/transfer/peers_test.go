package transfer

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

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
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
		"refused":      {"[45]", `["CLOSED",%q,"error: no"]`, 0, client.ErrRefused},
		"negative":     {"[45]", `["COUNT",%q,{"count":-1}]`, 0, client.ErrMisbehaved},
		"no number":    {"[45]", `["COUNT",%q,{}]`, 0, client.ErrMisbehaved},
		"not an event": {"[45]", `["EVENT",%q,{}]`, 0, client.ErrTimeout},
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
			scaled(t, func(timeout func(*client.Options)) error {
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
	for _, p := range Peers(clientFor(t, who(t, "agent"), []string{home}, nil)) {
		if n, err := p.Count(t.Context(), nipae.ListFilter(m.Agent(), m.Owner())); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		p.Close() // the client's
		if n, err := p.Count(t.Context(), nipae.ListFilter(m.Agent(), m.Owner())); n != 2 || err != nil {
			t.Errorf("after Close: %d, %v", n, err)
		}
	}
}

// A question to a relay that only the agent's list names contains neither owner
// nor ids, and the client authenticates only where the relay demands it.
func TestPeersThatAreListed(t *testing.T) {
	now := time.Now().Unix()
	mine, other := clienttest.EngramAt(t, "agent", "owner", "mem/a", "text", now-5), clienttest.EngramAt(t, "agent", "second", "mem/b", "text", now-4)
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
		directory := clienttest.StartHoard(t, &clienttest.Hoard{Events: []*nostr.Event{clienttest.RelayList(t, now, nostr.Tag{"r", far})}})
		c, agent, owner := clientFor(t, who(t, "owner"), []string{directory}, nil), who(t, "agent").PubKey(), who(t, "owner").PubKey()
		if err := c.Discover(t.Context(), agent); err != nil {
			t.Fatal(err)
		}
		p, all := Peers(c)[1], nipae.ListFilter(agent, owner)
		var came []string
		take := func(ev *nostr.Event) error { came = append(came, ev.ID); return nil }
		if _, err := p.Pages(t.Context(), all, take); err != nil || !slices.Equal(came, []string{mine.ID}) {
			t.Errorf("gated %v: %v, %v", gated, came, err)
		}
		came = nil
		if _, err := p.Fetch(t.Context(), all, idsOf([]*nostr.Event{mine, other}), take); err != nil || !slices.Equal(came, []string{mine.ID}) {
			t.Errorf("gated %v: fetched %v, %v", gated, came, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		came = nil
		if err := p.Live(ctx, all, take, cancel); !errors.Is(err, context.Canceled) || !slices.Equal(came, []string{mine.ID}) {
			t.Errorf("gated %v: live %v, %v", gated, came, err)
		}
		if _, err := p.Count(t.Context(), all); !errors.Is(err, ErrNoCount) {
			t.Error(err)
		}
		if _, _, err := p.Reconcile(t.Context(), all, nil); !errors.Is(err, ErrNoSync) {
			t.Error(err)
		}
		mu.Lock()
		if told := strings.Join(heard, "\n"); strings.Contains(told, owner) != gated || strings.Contains(told, mine.Tags.GetD()) {
			t.Errorf("gated %v: it was told %s", gated, told)
		}
		mu.Unlock()
	}
}
