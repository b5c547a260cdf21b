package websocket

import (
	"context"
	"net/netip"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
)

// What a connection asks for is charged to its address until it proves a key
// that has a share, and the key's place is given back at its end.
func TestWorkIsChargedToWhoProvedAKnownKey(t *testing.T) {
	known := pubkeyOf(t, alice)
	shares := fairness.NewShares(fairness.Rules{Known: func(_ context.Context, key string) (bool, error) { return key == known, nil }})
	charged := make(chan fairness.Who, 1)
	f := &fake{begin: func(ctx context.Context, _ *nostr.Event) *relay.Answer {
		charged <- fairness.From(ctx)
		return &relay.Answer{OK: true}
	}}
	r := start(t, f, Options{Shares: shares})
	c := r.dial(t)
	ask := func(n string) fairness.Who {
		ev := event(t, alice, 1, n)
		c.send(eventFrame(ev))
		c.expect(okFrame(ev))
		return <-charged
	}
	prove := func(secret string) {
		ev := r.authFor(t, secret, c)
		c.send(authFrame(ev))
		c.expect(okFrame(ev))
	}
	first := ask("1")
	if first.Share != "127.0.0.1" || first.Conn == 0 {
		t.Errorf("at first %+v", first)
	}
	prove(bob)
	if who := ask("2"); who != first {
		t.Errorf("with an unknown key %+v", who)
	}
	prove(alice)
	if who := ask("3"); who.Share != "key "+known || who.Conn != first.Conn {
		t.Errorf("with a known key %+v", who)
	}
	c.ws.Close()
	r.count.await(t, "closed", 1)

	// Eight other keys find all eight places of the address free.
	for i := range fairness.KeysPerAddress {
		key := string(rune('a' + i))
		shares.SetRules(fairness.Rules{Known: func(context.Context, string) (bool, error) { return true, nil }})
		if who, _ := shares.Prove(t.Context(), shares.Enter(netip.MustParseAddr("127.0.0.1")), key); who.Share != "key "+key {
			t.Errorf("place %d is still held: %+v", i, who)
		}
	}
}
