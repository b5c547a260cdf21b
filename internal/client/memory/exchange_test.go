package memory

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

var (
	exchangeID = strings.Repeat("0f", 16)
	proposal   = nipae.Slug(nipae.ProposalPrefix + exchangeID)
	answer     = nipae.Slug(nipae.AnswerPrefix + exchangeID)
	logUnit    = writerlog.UnitSlug("0a1b2c3d", 0)
)

// TestProposalsAreNoMemory: a key that proposes to an agent, or answers it,
// does not become an agent of the other's memory; neither answers nor units of
// a log add anything to a memory.
func TestProposalsAreNoMemory(t *testing.T) {
	at := []string{gated(t)}
	now := time.Now().Unix()
	put(t, at, clienttest.EngramAt(t, "agent", "owner", "mem/a", "12", now-90), clienttest.EngramAt(t, "agent", "owner", answer, "rejected", now-50),
		clienttest.EngramAt(t, "agent", "owner", logUnit, "engramd log 1", now-45), clienttest.EngramAt(t, "agent", "second", logUnit, "engramd log 1", now-45),
		clienttest.EngramAt(t, "owner", "agent", proposal, "propose: write", now-40), clienttest.EngramAt(t, "second", "agent", proposal, "propose: write", now-40),
		clienttest.EngramAt(t, "agent", "second", answer, "accepted", now-30), clienttest.EngramAt(t, "courier", "agent", "mem/a", "claim", now-20),
		clienttest.EngramAt(t, "agent", "third", "core", "other", now-10))
	key := func(name string) string { return who(t, name).PubKey() }
	agents := func(of string, want ...AgentMemory) {
		t.Helper()
		got, status, err := Agents(t.Context(), clientFor(t, who(t, of), at, nil))
		if err != nil || status.Partial || !slices.Equal(got.Agents, want) {
			t.Errorf("%s: %+v, %v, %+v, want %+v", of, got, err, status, want)
		}
	}
	claim := AgentMemory{Agent: key("courier"), Memories: 1, Bytes: 5, Last: now - 20}
	agents("owner", AgentMemory{Agent: key("agent"), Memories: 1, Bytes: 2, Last: now - 90})
	agents("agent", claim)
	agents("second")

	// What an owner writes to its agent is no memory either once the ownership is
	// known, unless the agent itself has approved that author.
	put(t, at, clienttest.EngramAt(t, "owner", "agent", "mem/stray", "1234", now-5))
	stray := AgentMemory{Agent: key("owner"), Memories: 1, Bytes: 4, Last: now - 5}
	agents("agent", stray, claim)
	agents("owner", AgentMemory{Agent: key("agent"), Memories: 1, Bytes: 2, Last: now - 90}) // by mistake, and it hides nothing
	knowing := clientFor(t, who(t, "agent"), at, func(o *client.Options) { o.Owner = key("owner") })
	if got, _, err := Agents(t.Context(), knowing); err != nil || !slices.Equal(got.Agents, []AgentMemory{claim}) {
		t.Errorf("knowing its owner: %+v, %v", got, err)
	}
	for name, c := range map[string]struct {
		m     *Memory
		begun bool
		keys  []string
	}{
		"an agent, for one that it answered":   {agentOf(t, "agent", "second", at, nil), false, []string{key("third"), key("owner")}},
		"a proposer, as an agent":              {agentOf(t, "second", "agent", at, nil), false, nil},
		"one whom it answered, as an owner":    {ownerOf(t, "agent", "second", at, nil), false, nil},
		"the agent, as an owner of a proposer": {ownerOf(t, "second", "agent", at, func(o *client.Options) { o.Owner = key("owner") }), false, []string{key("courier")}},
		"one that knows nothing of its owner":  {ownerOf(t, "second", "agent", at, nil), false, []string{key("owner"), key("courier")}},
		"its owner":                            {ownerOf(t, "agent", "owner", at, nil), true, nil},
	} {
		got, status, err := c.m.Others(t.Context())
		if err != nil || status.Partial || got.Begun != c.begun || !slices.Equal(got.Keys, c.keys) {
			t.Errorf("%s: %+v, %v, %+v", name, got, err, status)
		}
	}
	if _, err := ApprovalsOf(clientFor(t, who(t, "agent"), at, nil)).Allow(t.Context(), key("owner")); err != nil {
		t.Fatal(err)
	}
	stray.Approved = true
	agents("agent", stray, claim)
}

// TestReversed: of what an owner writes to its agent, both see proposals and
// answers only, and nothing else is written. Where neither side knows that the
// other is its owner or agent, everything is shown.
func TestReversed(t *testing.T) {
	at := []string{gated(t)}
	now := time.Now().Unix()
	put(t, at, clienttest.EngramAt(t, "owner", "agent", "mem/stray", "old", now-80), clienttest.EngramAt(t, "owner", "agent", "mem/stray", "stray", now-60),
		clienttest.EngramAt(t, "owner", "agent", "core", "stray", now-60), clienttest.EngramAt(t, "owner", "agent", proposal, "propose: write", now-50),
		clienttest.EngramAt(t, "agent", "owner", "mem/a", "mine", now-40))
	key := func(name string) string { return who(t, name).PubKey() }
	knows := func(owner, agent string) func(*client.Options) {
		return func(o *client.Options) { o.Owner, o.Agent = owner, agent }
	}
	slugs := func(entries []client.Entry) (out []string) {
		for _, e := range entries {
			out = append(out, string(e.Slug))
		}
		return out
	}
	as := func(m *Memory, err error) *Memory {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	owner := clientFor(t, who(t, "owner"), at, knows("", key("agent")))
	agent := clientFor(t, who(t, "agent"), at, knows(key("owner"), ""))
	for name, m := range map[string]*Memory{"the owner": as(AsAgent(owner, key("agent"))), "the agent": as(AsOwner(agent, key("owner")))} {
		if !m.Reversed() {
			t.Errorf("%s does not know it", name)
		}
		l, _, err := m.ListAll(t.Context())
		if err != nil || l.Core != nil || !slices.Equal(slugs(l.Memories), []string{string(proposal)}) {
			t.Errorf("%s lists %+v, %v", name, l, err)
		}
		past, _, _, err := m.ListAllAt(t.Context(), now-55)
		if err != nil || past.Core != nil || len(past.Memories) > 0 {
			t.Errorf("%s lists of the past %+v, %v", name, past, err)
		}
		if all, _, err := m.LogAll(t.Context()); err != nil || len(all) != 1 || all[0].Slug != proposal {
			t.Errorf("%s logs %+v, %v", name, all, err)
		}
		if g, _, err := m.Graph(t.Context()); err != nil || !slices.Equal(g.Orphans, []nipae.Slug{proposal}) {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
		if e, _, err := m.Get(t.Context(), proposal); err != nil || e.Text != "propose: write" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if v, _, err := m.Log(t.Context(), proposal); err != nil || len(v) != 1 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		for _, stray := range []nipae.Slug{"mem/stray", "core", "mem/none"} {
			if _, _, err := m.Get(t.Context(), stray); !errors.Is(err, client.ErrReversed) {
				t.Errorf("%s, %s: %v", name, stray, err)
			}
			if _, _, err := m.Log(t.Context(), stray); !errors.Is(err, client.ErrReversed) {
				t.Errorf("%s, %s: %v", name, stray, err)
			}
		}
	}
	m := as(AsAgent(owner, key("agent")))
	if _, _, err := m.Set(t.Context(), "mem/new", "x", SetOptions{}); !errors.Is(err, client.ErrReversed) {
		t.Errorf("written: %v", err)
	}
	body, err := nipae.NewMemory("mem/new", "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Compose(t.Context(), []Draft{{Body: body, At: now}}); !errors.Is(err, client.ErrReversed) {
		t.Errorf("composed: %v", err)
	}
	if all, err := m.Add(t.Context(), []NewText{{Slug: "mem/new", Text: "x"}}); err != nil || !errors.Is(all[0].Err, client.ErrReversed) {
		t.Errorf("added: %+v, %v", all, err)
	}
	for _, slug := range []nipae.Slug{proposal, answer} {
		if _, _, err := m.Set(t.Context(), slug, "another", SetOptions{}); err != nil {
			t.Errorf("%s: %v", slug, err)
		}
	}
	// The pair itself, other pairs, and a key that owns itself.
	for name, m := range map[string]*Memory{
		"its memory": as(AsAgent(agent, key("owner"))), "his agent's": as(AsOwner(owner, key("agent"))), "another's": as(AsOwner(agent, key("third"))),
		"his own": as(AsOwner(clientFor(t, who(t, "owner"), at, knows(key("owner"), "")), key("owner"))),
		"unknown": as(AsOwner(clientFor(t, who(t, "agent"), at, nil), key("owner"))),
	} {
		if m.Reversed() {
			t.Errorf("%s is taken for a reversed pair", name)
		}
		if name == "unknown" {
			if got, _, err := listed(t, m); err != nil || len(got) != 3 {
				t.Errorf("%v, %v", slugs(got), err)
			}
		}
	}
}
