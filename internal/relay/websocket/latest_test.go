package websocket

import (
	"context"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
)

// TestWhoWaitsForOtherNodesKeepsNobodyUp: more connections wait for the log
// than there are places to compute in, and others are served all the same.
func TestWhoWaitsForOtherNodesKeepsNobodyUp(t *testing.T) {
	n := fairness.Processors() + 1
	release, waiting := make(chan struct{}), make(chan struct{}, n)
	f := &fake{authorize: func(ctx context.Context, _ gate.Surface, f nostr.Filter) error {
		if f.Kinds[0] != 1 {
			return nil
		}
		waiting <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return ctx.Err()
	}}
	r := start(t, f, Options{Waits: true})
	for i := range n {
		c := r.dial(t)
		c.send(fmt.Sprintf(`["REQ","%d",{"kinds":[1]}]`, i))
		defer c.expect(fmt.Sprintf(`["EOSE","%d"]`, i))
	}
	for range n {
		<-waiting
	}
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[2]}]`)
	c.expect(`["EOSE","s"]`)
	close(release)
}

// TestNothingIsAnsweredThatMayBeOld: where nobody knows what was acknowledged,
// a request is closed and never answered with what is here.
func TestNothingIsAnsweredThatMayBeOld(t *testing.T) {
	f := &fake{authorize: func(context.Context, gate.Surface, nostr.Filter) error {
		return fmt.Errorf("%w: the log's own words", relay.ErrBehind)
	}}
	f.put(event(t, alice, 1, "one"))
	c := start(t, f, Options{Waits: true}).dial(t)
	const text = `"error: this relay cannot tell now whether it has everything that was acknowledged; ask again"]`
	c.send(`["REQ","s",{"kinds":[1]}]`, `["COUNT","n",{"kinds":[1]}]`, `["NEG-OPEN","g",{"kinds":[1]},"6100000200"]`)
	c.expect(`["CLOSED","s",`+text, `["CLOSED","n",`+text, `["NEG-ERR","g",`+text)
}
