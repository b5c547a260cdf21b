package websocket

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestReconciliationCountsWhatTheReaderSees: who may see three of eleven events
// is under a bound of three, its answer is the same as if there were no others,
// and COUNT says as many as the set has.
func TestReconciliationCountsWhatTheReaderSees(t *testing.T) {
	r := startReal(t, Options{Limits: Limits{Sync: SyncLimits{Items: 3}}}, gate.Options{Wildcard: gate.WildcardExclude})
	carol := strings.Repeat("0", 63) + "3"
	pa, pb, pc := pubkeyOf(t, alice), pubkeyOf(t, bob), pubkeyOf(t, carol)
	c := r.dial(t)
	put := func(ev *nostr.Event) {
		c.send(eventFrame(ev))
		c.expect(okFrame(ev))
	}
	for i := range 3 {
		put(event(t, alice, 1, fmt.Sprint(i)))
		put(event(t, alice, 30174, storetest.Payload("x"), nostr.Tag{"d", strings.Repeat(fmt.Sprint(i), 64)}, nostr.Tag{"p", pb}))
	}
	for i := range 5 {
		put(event(t, carol, 30174, storetest.Payload("x"), nostr.Tag{"d", strings.Repeat(fmt.Sprint(i), 64)}, nostr.Tag{"p", pc}))
	}
	for _, ask := range []struct {
		who, filter string
		n           int // -1 for one too many
	}{
		{"", `{}`, 3}, {carol, `{"kinds":[1]}`, 3}, {"", `{"kinds":[1],"authors":["` + pb + `"]}`, 0},
		{alice, `{"kinds":[30174],"authors":["` + pa + `"]}`, 3}, {bob, `{"kinds":[30174],"#p":["` + pb + `"]}`, 3},
		{bob, `{"#p":["` + pb + `"]}`, 3}, {carol, `{"kinds":[30174],"authors":["` + pc + `"]}`, -1}, {alice, `{}`, -1},
	} {
		c := r.dial(t)
		if ask.who != "" {
			auth := r.authFor(t, ask.who, c)
			c.send(authFrame(auth))
			c.expect(okFrame(auth))
		}
		c.send(`["NEG-OPEN","s",` + ask.filter + `,"6100000200"]`)
		if ask.n < 0 {
			c.expect(`["NEG-ERR","s","blocked: too many query results"]`)
			continue
		}
		msg := c.negMsg("s")
		if n := int(msg[4]); len(msg) != 5+32*ask.n || n != ask.n {
			t.Errorf("%s for %.8s: %d ids in %d bytes, want %d", ask.filter, ask.who, n, len(msg), ask.n)
		}
		c.send(`["COUNT","n",` + ask.filter + `]`)
		c.expect(fmt.Sprintf(`["COUNT","n",{"count":%d}]`, ask.n))
	}
	c.send(`["NEG-OPEN","s",{"kinds":[30174]},"6100000200"]`)
	c.expect(`["AUTH","` + c.challenge + `"]`)
	c.expectNegErr("s", "auth-required: ")
}
