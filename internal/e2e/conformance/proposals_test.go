package conformance

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestProposals: a relay with write.owners accepts engrams from a listed owner
// to an agent that the owner vouches for, and between two agents that listed
// owners vouch for. A third key reads and counts none of it.
func TestProposals(t *testing.T) {
	relay, agent, owner, second := attested(t)
	stranger, peer, late := relaytest.Stranger(), relaytest.NewKey(731), relaytest.NewKey(732)
	const listedOnly, notHis = "restricted: engrams are accepted here for listed owners only", "restricted: you have not vouched for the agent"
	at := rig.Now() - 100
	from := func(by, to relaytest.Key) *nostr.Event {
		at++
		return relaytest.Memory(by, to.Pub, "mem/proposals/00112233445566778899aabbccddeeff", "propose: write", at)
	}
	approve := func(by relaytest.Key, agents ...relaytest.Key) *nostr.Event {
		at++
		tags := []nostr.Tag{rig.Tag("d", "engramd/agents")}
		for _, k := range agents {
			tags = append(tags, rig.Tag("p", k.Pub))
		}
		return relaytest.Sign(by, 30078, at, "", tags...)
	}
	c := rig.Dial(t, relay)
	// Without any vouching, no proposal is accepted.
	c.Refused(from(owner, agent), notHis)
	c.Refused(from(agent, owner), unvouched)
	c.Refused(from(agent, peer), listedOnly)
	c.Store(approve(owner, agent))
	proposal := from(owner, agent)
	c.Store(proposal)
	c.Refused(from(second, agent), notHis)
	c.Refused(from(agent, peer), listedOnly)
	c.Refused(from(peer, agent), listedOnly)
	c.Store(approve(second, peer))
	between := from(peer, agent)
	c.Store(between, from(agent, peer), from(agent, owner))
	for _, k := range []relaytest.Key{agent, peer} {
		c.Refused(from(stranger, k), listedOnly)
		c.Refused(from(k, stranger), listedOnly)
		c.Refused(from(k, k), listedOnly)
	}

	// An attestation counts once the agent has written with it.
	c.Refused(from(owner, late), notHis)
	memory := relaytest.Memory(late, owner.Pub, "mem/one", "cedar", rig.Now())
	memory.Tags = append(memory.Tags, relaytest.Attestation(owner, late.Pub, "kind=30174"))
	c.Store(relaytest.Sign(late, memory.Kind, int64(memory.CreatedAt), memory.Content, memory.Tags...))
	c.Store(from(owner, late), from(agent, late))
	c.Refused(from(second, late), notHis)

	// Nothing more can be proposed to an agent that was taken off the list.
	c.Store(approve(second))
	c.Refused(from(owner, peer), notHis)
	c.Refused(from(agent, peer), listedOnly)
	c.Refused(from(peer, agent), listedOnly)

	// Only the two parties read it, as with every engram.
	asked := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{owner.Pub, peer.Pub}, "#p": []string{agent.Pub}}
	mine := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{owner.Pub}}
	reader := rig.Dial(t, relay, agent)
	rig.WantIDs(t, "the agent", rig.IDs(reader.MustQuery(asked).Events...), rig.NewestFirst(between, proposal))
	if n := reader.MustCount(asked); n != 2 {
		t.Errorf("the agent counts %d", n)
	}
	if got := rig.Dial(t, relay, owner).MustQuery(mine).Events; len(got) != 2 { // to the agent, and to the late one
		t.Errorf("the proposer reads %d", len(got))
	}
	for what, keys := range map[string][]relaytest.Key{"another agent": {late}, "another owner": {second}, "a stranger": {stranger}, "nobody": nil} {
		prefix := "restricted: "
		if keys == nil {
			prefix = "auth-required: "
		}
		t.Run(what, func(t *testing.T) {
			other := rig.Dial(t, relay, keys...)
			other.Closed(prefix, asked)
			other.Closed(prefix, mine)
		})
	}
}
