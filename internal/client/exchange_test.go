package client

import (
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/bridge/bridgetest"
	"engramd/nips/nipae"
)

var (
	exchangeID = strings.Repeat("0f", 16)
	proposal   = nipae.Slug(nipae.ProposalPrefix + exchangeID)
	answer     = nipae.Slug(nipae.AnswerPrefix + exchangeID)
)

// TestProposalsAreNoMemory: who proposes to an agent, or answers it, is no agent
// of its, remembers nothing for it, and answers add nothing to a memory.
func TestProposalsAreNoMemory(t *testing.T) {
	at := []string{gated(t)}
	now := time.Now().Unix()
	put(t, at, engramAt(t, "agent", "owner", "mem/a", "12", now-90), engramAt(t, "agent", "owner", answer, "rejected", now-50),
		engramAt(t, "owner", "agent", proposal, "propose: write", now-40), engramAt(t, "second", "agent", proposal, "propose: write", now-40),
		engramAt(t, "agent", "second", answer, "accepted", now-30), engramAt(t, "courier", "agent", "mem/a", "claim", now-20),
		engramAt(t, "agent", "third", "core", "other", now-10))
	key := func(name string) string { return who(t, name).PubKey() }
	agents := func(of string, want ...AgentMemory) {
		t.Helper()
		got, status, err := clientFor(t, who(t, of), at, nil).Agents(t.Context())
		if err != nil || status.Partial || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v, %+v, want %+v", of, got, err, status, want)
		}
	}
	claim := AgentMemory{Agent: key("courier"), Memories: 1, Bytes: 5, Last: now - 20}
	agents("owner", AgentMemory{Agent: key("agent"), Memories: 1, Bytes: 2, Last: now - 90})
	agents("agent", claim)
	agents("second")

	// Whatever else an owner writes to his agent is no memory either, but for one
	// whom the agent itself has approved.
	put(t, at, engramAt(t, "owner", "agent", "mem/stray", "1234", now-5))
	agents("agent", claim)
	if _, err := clientFor(t, who(t, "agent"), at, nil).Approvals().Allow(t.Context(), key("owner")); err != nil {
		t.Fatal(err)
	}
	agents("agent", AgentMemory{Agent: key("owner"), Approved: true, Memories: 1, Bytes: 4, Last: now - 5}, claim)

	for name, c := range map[string]struct {
		m     *Memory
		begun bool
		keys  []string
	}{
		"an agent, for one that it answered":   {agentOf(t, "agent", "second", at, nil), false, []string{key("third"), key("owner")}},
		"a proposer, as an agent":              {agentOf(t, "second", "agent", at, nil), false, nil},
		"one whom it answered, as an owner":    {ownerOf(t, "agent", "second", at, nil), false, nil},
		"the agent, as an owner of a proposer": {ownerOf(t, "second", "agent", at, nil), false, []string{key("courier")}},
		"its owner":                            {ownerOf(t, "agent", "owner", at, nil), true, nil},
	} {
		got, status, err := c.m.Others(t.Context())
		if err != nil || status.Partial || got.Begun != c.begun || !slices.Equal(got.Keys, c.keys) {
			t.Errorf("%s: %+v, %v, %+v", name, got, err, status)
		}
	}
}

// TestOwnersThatAreNotKnown: where it cannot be asked for whom a key remembers
// something, nobody is left out, and the answer is a partial one.
func TestOwnersThatAreNotKnown(t *testing.T) {
	at := gated(t)
	now := time.Now().Unix()
	put(t, []string{at}, engramAt(t, "owner", "agent", "mem/stray", "1234", now-5))
	c := clientFor(t, who(t, "agent"), []string{at, bridgetest.Down(t)}, nil)
	if got, status, err := c.Agents(t.Context()); err != nil || !status.Partial || len(got) != 1 {
		t.Errorf("%+v, %v, %+v", got, err, status)
	}
	if owners, relays, err := c.owners(t.Context(), targetsOf([]string{bridgetest.Down(t)}), []string{who(t, "owner").PubKey()}); err == nil || len(owners) > 0 || len(relays) != 1 {
		t.Errorf("%v, %v, %v", owners, relays, err)
	}
}
