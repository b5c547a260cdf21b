package websocket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/nips/nip01"
)

func TestStoredThenEOSEThenLive(t *testing.T) {
	f := &fake{}
	one, two, three := event(t, alice, 1, "one"), event(t, alice, 1, "two"), event(t, bob, 1, "three")
	f.put(one)
	r := start(t, f, Options{})
	c, w := r.dial(t), r.dial(t)
	c.send(`["REQ","s",{"authors":["` + one.PubKey + `"]}]`)
	c.expect(delivered("s", one), `["EOSE","s"]`)
	w.send(eventFrame(two), eventFrame(three))
	w.expect(okFrame(two), okFrame(three))
	c.expect(delivered("s", two))
	c.nothingBefore()
	r.count.await(t, "stored", 1)
	r.count.await(t, "live", 1)
	c.send(`["CLOSE","s"]`)
	c.nothingBefore()
	four := event(t, alice, 1, "four")
	w.send(eventFrame(four))
	w.expect(okFrame(four))
	c.nothingBefore()
}

func TestEOSEHints(t *testing.T) {
	for _, tc := range []struct {
		more, all bool
		want      string
	}{
		{false, false, `["EOSE","s"]`},
		{true, false, `["EOSE","s",["more"]]`},
		{false, true, `["EOSE","s",["finish"]]`},
	} {
		f := &fake{stored: func([]relay.Granted, int64) Stream { return &fakeStream{more: tc.more, all: tc.all} }}
		c := start(t, f, Options{}).dial(t)
		c.send(`["REQ","s",{"kinds":[1]}]`)
		c.expect(tc.want)
	}
}

// khatru 0.19.1: a REQ refused at its second filter keeps the first live
// (docs/khatru.md). And a REQ ends the subscription it replaces even then.
func TestKhatruFault_RefusedRequestStaysLive(t *testing.T) {
	f := &fake{authorize: func(_ context.Context, _ gate.Surface, f nostr.Filter) error {
		if len(f.Kinds) == 1 && f.Kinds[0] == 30174 {
			return &gate.Refusal{Refusal: nip01.Refusal{Prefix: "restricted", Text: "not a party"}, Rule: "engram"}
		}
		return nil
	}}
	r := start(t, f, Options{})
	for i, refused := range []string{
		`["REQ","s",{"kinds":[1]},{"kinds":[30174]}]`,
		`["REQ","s",{"kinds":[1]},{"kind":[1]}]`,
	} {
		r.fake.forget()
		c, w := r.dial(t), r.dial(t)
		c.send(`["REQ","s",{"kinds":[1]}]`, refused)
		c.expect(`["EOSE","s"]`)
		if got := c.recv(); !strings.HasPrefix(got, `["CLOSED","s","`) {
			t.Fatalf("answer %s, want CLOSED", got)
		}
		ev := event(t, alice, 1, fmt.Sprint("for nobody ", i))
		w.send(eventFrame(ev))
		w.expect(okFrame(ev))
		c.nothingBefore()
	}
	if n := r.count.get("live"); n != 0 {
		t.Errorf("%d live events were sent", n)
	}
}

// A refused COUNT is CLOSED (khatru 0.19.1 answers count 0), and ends nothing.
func TestKhatruFault_RefusedCountIsZero(t *testing.T) {
	f := &fake{}
	f.authorize = func(_ context.Context, s gate.Surface, _ nostr.Filter) error {
		if s == gate.SurfaceCount {
			return &nip01.Refusal{Prefix: "restricted", Text: "no"}
		}
		return nil
	}
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`, `["COUNT","s",{"kinds":[1]}]`)
	c.expect(`["EOSE","s"]`, `["CLOSED","s","restricted: no"]`)
	ev := event(t, alice, 1, "still live")
	w := r.dial(t)
	w.send(eventFrame(ev))
	w.expect(okFrame(ev))
	c.expect(delivered("s", ev))
}

// khatru 0.19.1: a store error is NOTICE then EOSE, on COUNT it is 0
// (docs/khatru.md; invariant 3 of ARCHITECTURE.md).
func TestKhatruFault_StoreErrorIsEOSE(t *testing.T) {
	f := &fake{failing: errors.New("disk /secret/path is on fire")}
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`, `["COUNT","n",{"kinds":[1]}]`)
	for _, want := range []string{`["CLOSED","s","error: `, `["CLOSED","n","error: `} {
		if got := c.recv(); !strings.HasPrefix(got, want) || strings.Contains(got, "secret") {
			t.Errorf("answer %s", got)
		}
	}
	r.count.await(t, "subscriptions", 0)
}

// khatru 0.19.1: the same sub id adds a second subscription (docs/khatru.md).
func TestKhatruFault_SameSubIDAddsASecond(t *testing.T) {
	r := start(t, &fake{}, Options{})
	c, w := r.dial(t), r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`, `["REQ","s",{"kinds":[1,2]}]`, `["REQ","s",{"kinds":[2]}]`)
	c.expect(`["EOSE","s"]`, `["EOSE","s"]`, `["EOSE","s"]`)
	one, two := event(t, alice, 1, "one"), event(t, alice, 2, "two")
	w.send(eventFrame(one), eventFrame(two))
	w.expect(okFrame(one), okFrame(two))
	c.expect(delivered("s", two))
	c.nothingBefore()
	r.count.await(t, "subscriptions", 1)
}

func TestAnEventThatMatchesSeveralFiltersComesOnce(t *testing.T) {
	f := &fake{}
	r := start(t, f, Options{})
	c, w := r.dial(t), r.dial(t)
	pk := pubkeyOf(t, alice)
	c.send(`["REQ","s",{"kinds":[1]},{"authors":["` + pk + `"]},{"authors":["` + pk + `"],"kinds":[1]},{"#t":["a","b"]},{}]`)
	c.expect(`["EOSE","s"]`)
	ev := event(t, alice, 1, "once", nostr.Tag{"t", "a"}, nostr.Tag{"t", "b"})
	w.send(eventFrame(ev))
	w.expect(okFrame(ev))
	c.expect(delivered("s", ev))
	c.nothingBefore()
}

// khatru 0.19.1: limit 0 returns before RejectFilter (docs/khatru.md).
func TestKhatruFault_LimitZeroPassesGate(t *testing.T) {
	f := &fake{authorize: needsKey(pubkeyOf(t, alice))}
	f.put(event(t, bob, 1, "stored"))
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1],"limit":0}]`)
	c.expect(`["AUTH","`+c.challenge+`"]`, `["CLOSED","s","auth-required: log in"]`)
	auth := authEvent(t, alice, c.challenge)
	c.send(authFrame(auth), `["REQ","s",{"kinds":[1],"limit":0}]`)
	c.expect(okFrame(auth), `["EOSE","s"]`)
	w, ev := r.dial(t), event(t, bob, 1, "live")
	w.send(eventFrame(ev))
	w.expect(okFrame(ev))
	c.expect(delivered("s", ev))
}

// Search is answered from the store and is not live; the other filters of the
// REQ are.
func TestKhatruFault_SearchIsIgnoredLive(t *testing.T) {
	r := start(t, &fake{}, Options{})
	c, w := r.dial(t), r.dial(t)
	c.send(`["REQ","search",{"search":"word","kinds":[1]}]`, `["REQ","mixed",{"search":"word"},{"kinds":[2]}]`)
	c.expect(`["EOSE","search"]`, `["EOSE","mixed"]`)
	one, two := event(t, alice, 1, "word"), event(t, alice, 2, "word")
	w.send(eventFrame(one), eventFrame(two))
	w.expect(okFrame(one), okFrame(two))
	c.expect(delivered("mixed", two))
	c.nothingBefore()
}

func TestKhatruFault_EmptyListMeansAllLive(t *testing.T) {
	r := start(t, &fake{}, Options{})
	c, w := r.dial(t), r.dial(t)
	c.send(`["REQ","s",{"authors":[]},{"kinds":[],"ids":[]},{"#t":[],"kinds":[1]}]`)
	c.expect(`["EOSE","s"]`)
	ev := event(t, alice, 1, "x", nostr.Tag{"t", "a"})
	w.send(eventFrame(ev))
	w.expect(okFrame(ev))
	c.nothingBefore()
}

// A subscription to ids that are all there stays open: no CLOSED (a listed
// exception to relay-tester).
func TestCompleteIDsStayOpen(t *testing.T) {
	f := &fake{}
	ev := event(t, alice, 1, "here")
	f.put(ev)
	c := start(t, f, Options{}).dial(t)
	c.send(`["REQ","s",{"ids":["` + ev.ID + `"]}]`)
	c.expect(delivered("s", ev), `["EOSE","s"]`)
	c.nothingBefore()
}

// khatru 0.19.1 echoes sub ids unescaped (docs/khatru.md).
func TestKhatruFault_SubIDIsEchoedUnescaped(t *testing.T) {
	f := &fake{}
	ev := event(t, alice, 1, "x")
	f.put(ev)
	c := start(t, f, Options{}).dial(t)
	c.send(`["REQ","\"],\\\n\u00e9",{"kinds":[1]}]`, `["COUNT","\"],\\\n\u00e9",{"kinds":[1]}]`, `["REQ","\"],\\\n\u00e9",{"kinds":[1],"x":1}]`)
	sub := `"\"],\\\né"`
	for _, want := range []string{`["EVENT",` + sub + `,{`, `["EOSE",` + sub + `]`, `["COUNT",` + sub + `,{"count":1}]`, `["CLOSED",` + sub + `,"invalid:`} {
		if got := c.recv(); !strings.HasPrefix(got, want) {
			t.Errorf("answer %s, want %s", got, want)
		}
	}
}

// One challenge per connection, several keys add up, and a refused AUTH leaves
// the connection and what it had proved (khatru: one identity, the second
// replaces the first).
func TestKhatruFault_SecondAuthReplacesFirst(t *testing.T) {
	f := &fake{}
	pa, pb := pubkeyOf(t, alice), pubkeyOf(t, bob)
	f.authorize = func(ctx context.Context, s gate.Surface, fl nostr.Filter) error {
		for _, a := range fl.Authors {
			if err := needsKey(a)(ctx, s, fl); err != nil {
				return err
			}
		}
		return nil
	}
	r := start(t, f, Options{Limits: Limits{Keys: 2}})
	c := r.dial(t)
	if len(c.challenge) != 32 {
		t.Errorf("challenge %q is not 128 bits", c.challenge)
	}
	both := `["COUNT","n",{"authors":["` + pa + `","` + pb + `"]}]`
	a, b, bad := authEvent(t, alice, c.challenge), authEvent(t, bob, c.challenge), authEvent(t, alice, "another")
	c.send(authFrame(a), both, authFrame(bad), authFrame(b), both)
	c.expect(
		okFrame(a), `["CLOSED","n","restricted: not yours"]`,
		`["OK","`+bad.ID+`",false,"invalid: auth event answers another challenge"]`,
		okFrame(b), `["COUNT","n",{"count":0}]`,
	)
	third := authEvent(t, strings.Repeat("0", 63)+"3", c.challenge)
	c.send(authFrame(third))
	c.expect(`["OK","` + third.ID + `",false,"error: too many keys are proved on this connection"]`)
	if other := r.dial(t); other.challenge == c.challenge {
		t.Error("two connections have the same challenge")
	}
}

func TestTheChallengeComesBeforeAuthRequiredOnEvents(t *testing.T) {
	f := &fake{begin: func(context.Context, *nostr.Event) *relay.Answer {
		return &relay.Answer{Why: nip01.Parse("auth-required: protected")}
	}}
	c := start(t, f, Options{}).dial(t)
	ev := event(t, alice, 1, "x", nostr.Tag{"-"})
	c.send(eventFrame(ev))
	c.expect(`["AUTH","`+c.challenge+`"]`, `["OK","`+ev.ID+`",false,"auth-required: protected"]`)
}
