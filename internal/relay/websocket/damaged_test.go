package websocket

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/storetest"
)

// rots changes a letter in the content of the events of a kind, in the file.
func (r *rig) rots(t *testing.T, kind int) {
	t.Helper()
	storetest.Outside(t, r.path, fmt.Sprintf("UPDATE events SET json = CAST(replace(json, '\"content\":\"A', '\"content\":\"B') AS BLOB) WHERE kind = %d", kind))
}

// TestDamagedIsSaid: who names a damaged event is told so, any other question
// gets the rest and is told what it lacks, a stranger learns nothing, a set for
// reconciling lacks it, and the same event heals it.
func TestDamagedIsSaid(t *testing.T) {
	r := startReal(t, Options{}, gate.Options{Wildcard: gate.WildcardExclude})
	pa, pb := pubkeyOf(t, alice), pubkeyOf(t, bob)
	d := strings.Repeat("d", 64)
	whole, note := event(t, alice, 1, "whole"), event(t, bob, 1, "A note")
	head := event(t, alice, 30174, storetest.Payload("x"), nostr.Tag{"d", d}, nostr.Tag{"p", pb})
	wrap := event(t, alice, 1059, "A secret", nostr.Tag{"p", pb})
	c := r.dial(t)
	for _, ev := range []*nostr.Event{whole, note, head, wrap} {
		c.send(eventFrame(ev))
		c.expect(okFrame(ev))
	}
	for _, kind := range []int{1, 30174, 1059} {
		r.rots(t, kind)
	}
	as := func(who string) *client {
		c := r.dial(t)
		if who != "" {
			auth := r.authFor(t, who, c)
			c.send(authFrame(auth))
			c.expect(okFrame(auth))
		}
		return c
	}
	const damaged = `["CLOSED","s","error: damaged"]`
	for _, ask := range []struct {
		who, filter string
		want        []string
	}{
		{"", `{"ids":["` + note.ID + `"]}`, []string{damaged}},
		{"", `{"ids":["` + wrap.ID + `"]}`, []string{`["EOSE","s",["finish"]]`}}, // no key to a wrap
		{bob, `{"ids":["` + wrap.ID + `"]}`, []string{damaged}},
		{alice, `{"kinds":[30174],"authors":["` + pa + `"],"#d":["` + d + `"]}`, []string{damaged}},
		{"", `{"kinds":[1],"authors":["` + pa + `","` + pb + `"]}`, []string{
			string(wire.AppendEventFrame(nil, "s", wire.AppendEvent(nil, whole))), `["NOTICE","error: damaged: subscription s lacks event ` + note.ID + `"]`, `["EOSE","s",["more","damaged"]]`,
		}},
		{bob, `{"#p":["` + pb + `"],"kinds":[1059]}`, []string{`["NOTICE","error: damaged: subscription s lacks event ` + wrap.ID + `"]`, `["EOSE","s",["more","damaged"]]`}},
		{"", `{"authors":["` + pa + `"]}`, []string{string(wire.AppendEventFrame(nil, "s", wire.AppendEvent(nil, whole))), `["EOSE","s",["finish"]]`}},
	} {
		c := as(ask.who)
		c.send(`["REQ","s",` + ask.filter + `]`)
		c.expect(ask.want...)
	}
	c.send(`["NEG-OPEN","s",{"kinds":[1]},"6100000200"]`)
	if n := int(c.negMsg("s")[4]); n != 1 {
		t.Errorf("%d notes are offered for reconciling, want the one that is whole", n)
	}
	c.send(eventFrame(note))
	c.expect(string(wire.AppendOK(nil, note.ID, true, "duplicate: already have this event")))
	c.send(`["REQ","s",{"ids":["` + note.ID + `"]}]`)
	c.expect(string(wire.AppendEventFrame(nil, "s", wire.AppendEvent(nil, note))), `["EOSE","s",["finish"]]`)
}
