package gate

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestGateOwnRequests: who has proved a key reads back all its requests to
// delete and to vanish by naming itself as their author, without any party; all
// others read of them what is open, by the same filter. What the requests took
// away is refused in their author's name, to whoever sends it.
func TestGateOwnRequests(t *testing.T) {
	relay := rig.Start(t)
	at := rig.Now() - 50
	note, memory := relaytest.Note(rig.GateAgent, at, "open"), relaytest.Memory(rig.GateAgent, rig.GateOwner.Pub, "mem/one", "gated", at)
	other, later := relaytest.Memory(rig.GateAgent, rig.GateOwner.Pub, "mem/two", "gated", at), relaytest.Memory(rig.GateAgent, rig.GateOwner.Pub, "mem/three", "gated", at)
	tag := rig.Tag
	open := relaytest.Deletion(rig.GateAgent, at+1, tag("e", note.ID))
	requests := []*nostr.Event{
		open,
		relaytest.Deletion(rig.GateAgent, at+2, tag("e", memory.ID)),
		relaytest.Deletion(rig.GateAgent, at+3, tag("a", "30174:"+rig.GateAgent.Pub+":"+other.Tags.GetD()), tag("k", "30174")),
		relaytest.Deletion(rig.GateAgent, at+4, tag("e", gateUnknown)), // never here
	}
	agent := rig.Dial(t, relay, rig.GateAgent)
	agent.Store(note, memory, other, later)
	agent.Store(requests...)
	mine := relaytest.Filter{"kinds": []int{5, 62}, "authors": []string{rig.GateAgent.Pub}}
	others := map[string]*rig.Peer{"nobody": rig.Dial(t, relay), "a stranger": rig.Dial(t, relay, rig.GateStranger), "the owner": rig.Dial(t, relay, rig.GateOwner)}
	read := func(when string, own, public []*nostr.Event) {
		t.Helper()
		rig.WantIDs(t, when+": the author", agent.MustQuery(mine).IDs(), rig.NewestFirst(own...))
		if n := agent.MustCount(mine); n != int64(len(own)) {
			t.Errorf("%s: the author counts %d", when, n)
		}
		for who, p := range others {
			rig.WantIDs(t, when+": "+who, p.MustQuery(mine).IDs(), rig.NewestFirst(public...))
		}
	}
	read("deleted", requests, []*nostr.Event{open})
	gone := func(evs ...*nostr.Event) {
		t.Helper()
		for _, p := range []*rig.Peer{agent, others["nobody"]} {
			for _, ev := range evs {
				if ok := p.MustPublish(ev); ok.True || ok.Message != rig.Deleted {
					t.Errorf("kind %d again: OK %v %q", ev.Kind, ok.True, ok.Message)
				}
			}
		}
	}
	gone(note, memory, other)

	vanish := relaytest.Sign(rig.GateAgent, relaytest.KindVanish, at+5, "", tag("relay", relay.URL))
	since := relaytest.Deletion(rig.GateAgent, at+6, tag("e", later.ID))
	agent.Store(vanish, since)
	read("vanished", []*nostr.Event{vanish, since}, []*nostr.Event{vanish})
	gone(later, note, memory)
}
