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
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// onReq runs do for every REQ; it returns false when the connection is to end.
func onReq(do func(c *clienttest.Conn, f wire.Frame) bool) func(testing.TB) string {
	return func(t testing.TB) string {
		return clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
			for {
				f, ok := c.Next(wire.LabelReq)
				if !ok || !do(c, f) {
					return
				}
			}
		}})
	}
}

// hostileRelays are relays that break the protocol or attack clients.
func hostileRelays(t testing.TB) map[string]func(testing.TB) string {
	now := time.Now().Unix()
	good := clienttest.EngramAt(t, "agent", "owner", "mem/a", "hostile's copy", now-100)
	forged := *good
	forged.Sig = strings.Repeat("0", 128)
	renamed := *good
	renamed.ID = strings.Repeat("0", 64)
	changed := *good // the id of the true one, with other content
	changed.Content = clienttest.EngramAt(t, "agent", "owner", "mem/a", "changed", now).Content
	others := clienttest.EngramAt(t, "second", "owner", "mem/a", "somebody else's", now)
	endless := func(frame func(sub string, i int) []byte) func(testing.TB) string {
		return onReq(func(c *clienttest.Conn, f wire.Frame) bool {
			for i := 0; c.Send(frame(f.SubID, i)); i++ {
			}
			return false
		})
	}
	repeat := func(ev *nostr.Event) func(testing.TB) string {
		return endless(func(sub string, _ int) []byte { return wire.AppendEventFrame(nil, sub, wire.AppendEvent(nil, ev)) })
	}
	one := func(ev *nostr.Event) func(testing.TB) string {
		return onReq(func(c *clienttest.Conn, f wire.Frame) bool {
			c.Event(f.SubID, ev)
			return c.Send(wire.AppendEOSE(nil, f.SubID))
		})
	}
	say := func(format string, args ...any) func(testing.TB) string {
		return onReq(func(c *clienttest.Conn, f wire.Frame) bool {
			c.Sendf(format, args...)
			c.Drain()
			return false
		})
	}
	return map[string]func(testing.TB) string{
		"the same event without end":    repeat(good),
		"wrong signatures without end":  repeat(&forged),
		"other people's events forever": repeat(others),
		"notices without end":           endless(func(string, int) []byte { return []byte(`["NOTICE","` + strings.Repeat("x", 500) + `"]`) }),
		"challenges without end":        endless(func(_ string, i int) []byte { return fmt.Appendf(nil, `["AUTH","%d"]`, i) }),
		"one challenge without end":     endless(func(string, int) []byte { return []byte(`["AUTH","x"]`) }),
		"EOSE without end":              endless(func(sub string, _ int) []byte { return wire.AppendEOSE(nil, sub, "more") }),
		"a wrong signature":             one(&forged),
		"a wrong id":                    one(&renamed),
		"the right id on other content": one(&changed),
		"somebody else's event":         one(others),
		"a giant frame":                 say(`["NOTICE","%s"]`, strings.Repeat("x", 4<<20)),
		"no JSON":                       say(`hello`),
		"an object":                     say(`{"a":1}`),
		"deeply nested":                 say(`["EVENT","q1",%s%s]`, strings.Repeat("[", 100_000), strings.Repeat("]", 100_000)),
		"an EVENT that is none":         say(`["EVENT","q1"]`),
		"an OK that is none":            say(`["OK",1,2,3]`),
		"a long challenge":              say(`["AUTH","%s"]`, strings.Repeat("x", 5000)),
		"no EOSE":                       onReq(func(c *clienttest.Conn, f wire.Frame) bool { return c.Event(f.SubID, good) }),
		"nothing at all":                onReq(func(*clienttest.Conn, wire.Frame) bool { return true }),
		"an EOSE for another":           onReq(func(c *clienttest.Conn, f wire.Frame) bool { return c.Send(wire.AppendEOSE(nil, "other")) }),
		"closes at once":                onReq(func(*clienttest.Conn, wire.Frame) bool { return false }),
		"closes midway":                 onReq(func(c *clienttest.Conn, f wire.Frame) bool { c.Event(f.SubID, good); return false }),
		"wants AUTH, sends no challenge": onReq(func(c *clienttest.Conn, f wire.Frame) bool {
			return c.Send(wire.AppendClosed(nil, f.SubID, "auth-required: x"))
		}),
		"wants AUTH and gives no OK": onReq(func(c *clienttest.Conn, f wire.Frame) bool {
			c.Sendf(`["AUTH","x"]`)
			return c.Send(wire.AppendClosed(nil, f.SubID, "auth-required: x"))
		}),
		"more, and nothing more": onReq(func(c *clienttest.Conn, f wire.Frame) bool {
			c.Event(f.SubID, good)
			return c.Send(wire.AppendEOSE(nil, f.SubID, "more"))
		}),
		"a binary message": onReq(func(c *clienttest.Conn, _ wire.Frame) bool { return c.WS.WriteMessage(2, []byte("[]")) == nil }),
		"a refusal that paints terminals": onReq(func(c *clienttest.Conn, f wire.Frame) bool {
			return c.Send(wire.AppendClosed(nil, f.SubID, "error: \x1b[2J\u202e"+strings.Repeat("x", 10_000)))
		}),
	}
}

// Beside every kind of hostile relay, a good relay is read and written
// completely and in time.
func TestHostileRelaysSpoilNothing(t *testing.T) {
	for name, start := range hostileRelays(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hostile := start(t)
			scaled(t, func(timeout func(*client.Options)) error {
				// A good relay for each try: what an earlier one sent late must not
				// reach this one.
				relays := []string{hostile, bridgetest.Start(t).URL}
				truth := mustSet(t, agentOf(t, "agent", "owner", relays[1:], nil), "mem/a", "the truth")
				return besideHostile(t, agentOf(t, "agent", "owner", relays, timeout), truth, timeout)
			})
		})
	}
}

// besideHostile reads and writes at a hostile and a good relay and describes
// what is wrong.
func besideHostile(t testing.TB, m *Memory, truth client.Entry, timeout func(*client.Options)) error {
	defer m.c.Close()
	begin := time.Now()
	got, status, err := m.Get(t.Context(), "mem/a")
	if err != nil || got != truth {
		return fmt.Errorf("get %+v, %w", got, err)
	}
	if err := inTime("get", begin, timeout); err != nil {
		return err
	}
	if s := status.Relays[1]; s.Err != nil || !s.Complete {
		return fmt.Errorf("the good relay: %+v", s)
	}
	if s := status.Relays[0]; s.Complete || !status.Partial {
		return fmt.Errorf("the hostile relay is believed: %+v", s)
	} else if s.Err != nil && (len(s.Err.Error()) > 1000 || strings.ContainsAny(s.Err.Error(), "\x1b\u202e")) {
		return fmt.Errorf("its words are repeated: %.200q", s.Err.Error())
	}
	begin = time.Now()
	if _, status, err := m.Set(t.Context(), "mem/a", "more", SetOptions{}); err != nil || !status.Published[1].Accepted {
		return fmt.Errorf("set: %w", err)
	}
	return inTime("set", begin, timeout)
}

// A hostile relay alone makes nothing seem absent.
func TestHostileRelaysAloneAreNoAbsence(t *testing.T) {
	for name, start := range hostileRelays(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := ownerOf(t, "agent", "owner", []string{start(t)}, quick)
			got, _, err := m.Get(t.Context(), "mem/a")
			if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone) {
				t.Errorf("it is said not to be there: %v", err)
			}
			if err == nil && got.Text != "hostile's copy" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// What one relay may send is bounded in bytes, events and invalid events,
// however much time it has.
func TestBounds(t *testing.T) {
	now := time.Now().Unix()
	var sent atomic.Int64
	flood := func(event func(i int) *nostr.Event) string {
		return onReq(func(c *clienttest.Conn, f wire.Frame) bool {
			for i := 0; c.Event(f.SubID, event(i)); i++ {
				sent.Add(1)
			}
			return false
		})(t)
	}
	good := clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", now)
	stray := clienttest.EngramAt(t, "second", "owner", "mem/a", "x", now)
	same := func(ev *nostr.Event) func(int) *nostr.Event { return func(int) *nostr.Event { return ev } }
	for name, tt := range map[string]struct {
		event  *nostr.Event
		limits client.Limits
	}{
		"events": {good, client.Limits{Events: 1000}},
		"bytes":  {good, client.Limits{Bytes: 100_000}},
		"wrong":  {stray, client.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := clientFor(t, who(t, "agent"), []string{flood(same(tt.event))}, func(o *client.Options) { o.Limits = tt.limits })
			a, err := c.Ask(t.Context(), nipae.ListFilter(who(t, "agent").PubKey(), who(t, "owner").PubKey()))
			if !errors.Is(err, client.ErrNoRelay) || !errors.Is(a.Relays[0].Err, client.ErrMisbehaved) {
				t.Errorf("%v, %+v", err, a.Relays)
			}
		})
	}
}

// A relay that sends while nothing was asked is disconnected.
func TestTalkingWithoutBeingAsked(t *testing.T) {
	cut := make(chan struct{}, 8)
	url := onReq(func(c *clienttest.Conn, f wire.Frame) bool {
		c.Send(wire.AppendEOSE(nil, f.SubID, "finish"))
		for c.Sendf(`["NOTICE","x"]`) {
		}
		cut <- struct{}{}
		return false
	})(t)
	c := clientFor(t, client.Identity{}, []string{url}, nil)
	for range 2 { // and asked again, it is connected to again
		if _, err := c.Ask(t.Context(), nostr.Filter{Kinds: []int{1}}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-cut:
		case <-time.After(patience):
			t.Fatal("it still talks")
		}
	}
}

// A redirect is not followed, because a signature for one relay is not meant
// for another.
func TestRedirectsAreNotFollowed(t *testing.T) {
	h := &clienttest.Hoard{}
	other := clienttest.StartHoard(t, h)
	url := clienttest.Start(t, &clienttest.Fake{HTTP: clienttest.RedirectTo("http" + strings.TrimPrefix(other, "ws"))})
	m := agentOf(t, "agent", "owner", []string{url}, quick)
	if _, status, err := m.Log(t.Context(), "mem/a"); !errors.Is(err, client.ErrNoRelay) {
		t.Errorf("%v, %+v", err, status)
	}
	if h.Asked() != 0 {
		t.Error("the redirect was followed")
	}
}
