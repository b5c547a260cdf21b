package memory

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// authScript is a relay that does AUTH in one of the ways that relays do.
type authScript struct {
	atOpen  bool   // sends the challenge when the connection opens
	before  bool   // sends it before it refuses
	after   bool   // sends it after it refused
	hides   bool   // shows nothing instead of refusing
	refusal string // of every AUTH; empty: accepted
	auths   atomic.Int32
}

func (a *authScript) start(t testing.TB, ev *nostr.Event) string {
	return clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		known := false
		challenge := func(when bool) {
			if when {
				c.Sendf(`["AUTH","a challenge"]`)
			}
		}
		challenge(a.atOpen)
		for {
			f, ok := c.Read()
			switch {
			case !ok:
				return
			case f.Label == wire.LabelAuth:
				a.auths.Add(1)
				known = a.refusal == "" && f.Event.Tags.GetFirst([]string{"challenge", "a challenge"}) != nil
				c.Send(wire.AppendOK(nil, f.Event.ID, known, a.refusal))
			case f.Label == wire.LabelEvent && !known:
				challenge(a.before)
				c.Send(wire.AppendOK(nil, f.Event.ID, false, "auth-required: who are you"))
				challenge(a.after)
			case f.Label == wire.LabelEvent:
				c.Send(wire.AppendOK(nil, f.Event.ID, true, ""))
			case f.Label == wire.LabelReq && !known && !a.hides:
				challenge(a.before)
				c.Send(wire.AppendClosed(nil, f.SubID, "auth-required: who are you"))
				challenge(a.after)
			case f.Label == wire.LabelReq:
				if known {
					c.Event(f.SubID, ev)
				}
				c.Send(wire.AppendEOSE(nil, f.SubID))
			}
		}
	}})
}

func TestAuthOnDemand(t *testing.T) {
	ev := clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", time.Now().Unix())
	for name, tt := range map[string]struct {
		script *authScript
		want   error
	}{
		"challenge when it opens":                        {&authScript{atOpen: true}, nil},
		"challenge before the refusal":                   {&authScript{before: true}, nil},
		"challenge after the refusal":                    {&authScript{after: true}, nil},
		"the same challenge again":                       {&authScript{atOpen: true, before: true, after: true}, nil},
		"hides instead of refusing":                      {&authScript{atOpen: true, hides: true}, nil},
		"does not accept us":                             {&authScript{atOpen: true, refusal: "restricted: members only"}, client.ErrAuth},
		"does not accept us, in other words":             {&authScript{before: true, refusal: "invalid: relay"}, client.ErrAuth},
		"does not accept us, and hides":                  {&authScript{atOpen: true, hides: true, refusal: "restricted: members only"}, client.ErrAuth},
		"demands it and never says what is to be signed": {&authScript{}, client.ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := tt.script.start(t, ev)
			scaled(t, func(timeout func(*client.Options)) error {
				tt.script.auths.Store(0)
				return checkAuth(t, ownerOf(t, "agent", "owner", []string{url}, timeout), ev, tt.want, &tt.script.auths)
			})
		})
	}
}

// checkAuth reads twice and publishes on one connection, and says what is
// wrong.
func checkAuth(t testing.TB, m *Memory, ev *nostr.Event, want error, auths *atomic.Int32) error {
	defer m.c.Close()
	for range 2 {
		got, _, err := m.Get(t.Context(), "mem/a")
		if !errors.Is(err, want) || want == nil && got.ID != ev.ID || errors.Is(err, client.ErrNotFound) {
			return fmt.Errorf("get %+v, %w", got, err)
		}
	}
	if all, err := m.c.Publish(t.Context(), ev); !errors.Is(err, want) {
		return fmt.Errorf("publish: %w, %+v", err, all)
	}
	if n := auths.Load(); n > 1 {
		return fmt.Errorf("it was sent %d AUTHs for one challenge on one connection", n)
	}
	return nil
}

// AUTH names the relay as it was written, and is for this challenge only.
func TestWhatIsSigned(t *testing.T) {
	events := make(chan *nostr.Event, 8) // one for each attempt
	url := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		c.Sendf(`["AUTH","once"]`)
		if f, ok := c.Next(wire.LabelAuth); ok {
			events <- f.Event
		}
		c.Drain()
	}})
	written := strings.Replace(url, "ws://", "WS://", 1) + "/"
	var ev *nostr.Event
	scaled(t, func(timeout func(*client.Options)) error {
		c := clientFor(t, who(t, "agent"), []string{written}, timeout)
		if _, err := c.Ask(t.Context(), nipae.ListFilter(who(t, "agent").PubKey(), who(t, "owner").PubKey())); !errors.Is(err, client.ErrNoRelay) {
			t.Error(err)
		}
		select {
		case ev = <-events:
			return nil
		default:
			return errors.New("nothing was signed")
		}
	})
	if ev == nil {
		return
	}
	if wire.Verify(ev) != nil || ev.Kind != 22242 || ev.PubKey != who(t, "agent").PubKey() || len(ev.Tags) != 2 ||
		ev.Tags.GetFirst([]string{"relay", written}) == nil || ev.Tags.GetFirst([]string{"challenge", "once"}) == nil || ev.Content != "" {
		t.Errorf("signed %v", ev)
	}
}
