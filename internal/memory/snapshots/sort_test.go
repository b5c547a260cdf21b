package snapshots

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/kind"
)

// TestSorted: what counts, what was superseded, and what is left out.
func TestSorted(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	memory := func(slug string, at int64) *nostr.Event { return relaytest.Memory(agent, owner.Pub, slug, "x", at) }
	head, lagging, past := memory("mem/a", 30), memory("mem/a", 20), memory("mem/a", 10)
	gone, ahead := memory("mem/gone", 5), memory("mem/a", 40)
	orphan := memory("mem/orphan", 3)
	malformed := relaytest.Sign(agent, kindEngram, 6, "no payload", nostr.Tag{"d", strings.Repeat("0", 64)}, nostr.Tag{"p", owner.Pub})
	deletion := relaytest.Deletion(agent, 50, nostr.Tag{"a", relaytest.Coordinate(kindEngram, agent.Pub, gone.Tags.GetD())}, nostr.Tag{"k", "30174"})
	relays, older := relaytest.Sign(agent, nostr.KindRelayListMetadata, 9, ""), relaytest.Sign(agent, nostr.KindRelayListMetadata, 8, "")
	list := map[string]*nostr.Event{}
	for _, ev := range []*nostr.Event{head, lagging, gone, malformed, deletion, relays, older} {
		list[ev.ID] = ev
	}
	tk := &taking{agent: agent.Pub, c: newClient(t), latest: 1_000}
	c := tk.sorted(list, []*nostr.Event{past, head, ahead, orphan, gone, past})
	for class, want := range map[bundle.Class][]*nostr.Event{
		bundle.Heads: {head}, bundle.History: {lagging, past, orphan}, bundle.Deletions: {deletion}, bundle.Relays: {relays}, bundle.Contracts: nil,
	} {
		got := map[string]bool{}
		for _, ev := range c.events[class] {
			got[ev.ID] = true
		}
		for _, ev := range want {
			if !got[ev.ID] {
				t.Errorf("%v lacks the event of %d", class, ev.CreatedAt)
			}
		}
		if len(got) != len(want) || len(c.events[class]) != len(want) {
			t.Errorf("%v has %d events, want %d", class, len(c.events[class]), len(want))
		}
	}
	if c.LeftOut != 2 {
		t.Errorf("%d were left out, want the malformed one and the one ahead of its head", c.LeftOut)
	}
}

// TestSortedVanish: what a relay still shows that has not heard of a request to
// vanish from all relays (NIP-62) is not in the capture, neither as head nor as
// history. One that is addressed to a relay says nothing of others, nor does
// one of somebody else.
func TestSortedVanish(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	memory := func(slug string, at int64) *nostr.Event { return relaytest.Memory(agent, owner.Pub, slug, "x", at) }
	relays := relaytest.Sign(agent, nostr.KindRelayListMetadata, 9, "")
	before, at, after, past := memory("mem/a", 29), memory("mem/b", 30), memory("mem/c", 31), memory("mem/c", 20)
	deletion := relaytest.Deletion(agent, 25, nostr.Tag{"e", strings.Repeat("ab", 32)}, nostr.Tag{"k", "30174"})
	everywhere := relaytest.Sign(agent, kind.Vanish, 30, "", nostr.Tag{"relay", "ALL_RELAYS"})
	somewhere := relaytest.Sign(agent, kind.Vanish, 30, "", nostr.Tag{"relay", "wss://one.example"})
	others := relaytest.Sign(relaytest.Stranger(), kind.Vanish, 30, "", nostr.Tag{"relay", "ALL_RELAYS"})
	for _, tt := range []struct {
		name                      string
		vanish                    *nostr.Event
		heads, history, deletions int
	}{
		{"everywhere", everywhere, 1, 0, 1},
		{"from one relay", somewhere, 3, 1, 2},
		{"somebody else", others, 3, 1, 2},
	} {
		list := map[string]*nostr.Event{}
		for _, ev := range []*nostr.Event{relays, before, at, after, deletion, tt.vanish} {
			list[ev.ID] = ev
		}
		c := (&taking{agent: agent.Pub, c: newClient(t), latest: 1_000}).sorted(list, []*nostr.Event{past, before})
		if len(c.events[bundle.Heads]) != tt.heads || len(c.events[bundle.History]) != tt.history || len(c.events[bundle.Deletions]) != tt.deletions || c.LeftOut != 0 {
			t.Errorf("%s: %d heads, %d versions, %d deletions, %d left out", tt.name, len(c.events[bundle.Heads]), len(c.events[bundle.History]), len(c.events[bundle.Deletions]), c.LeftOut)
		}
		if gone := len(c.events[bundle.Relays]) == 0; gone != (tt.vanish == everywhere) {
			t.Errorf("%s: the relay list is gone: %v", tt.name, gone)
		}
	}
}
