package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// TestOthers: on a relay with a gate, the key that asks decides which pairs are
// found.
func TestOthers(t *testing.T) {
	relay := gated(t)
	now := time.Now().Unix()
	put(t, []string{relay}, clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", now-9), clienttest.EngramAt(t, "agent", "second", "mem/a", "x", now-5),
		clienttest.EngramAt(t, "courier", "owner", "mem/a", "x", now-7))
	key := func(name string) string { return who(t, name).PubKey() }
	at := []string{relay}
	for name, c := range map[string]struct {
		m     *Memory
		begun bool
		keys  []string
	}{
		"agent, another owner":    {agentOf(t, "agent", "third", at, nil), false, []string{key("second"), key("owner")}},
		"agent, its owner":        {agentOf(t, "agent", "owner", at, nil), true, nil},
		"agent without memory":    {agentOf(t, "third", "owner", at, nil), false, nil},
		"owner, his agent":        {ownerOf(t, "agent", "owner", at, nil), true, nil},
		"owner, another agent":    {ownerOf(t, "third", "owner", at, nil), false, []string{key("courier"), key("agent")}},
		"a stranger to the agent": {ownerOf(t, "agent", "third", at, nil), false, nil},
	} {
		got, status, err := c.m.Others(t.Context())
		if err != nil || status.Partial || got.Begun != c.begun || !slices.Equal(got.Keys, c.keys) {
			t.Errorf("%s: %+v, %v, %+v", name, got, err, status)
		}
	}
	for _, m := range []*Memory{agentOf(t, "agent", "third", []string{relay, bridgetest.Down(t)}, nil), ownerOf(t, "third", "owner", []string{relay, bridgetest.Down(t)}, nil)} {
		if _, _, err := m.Others(t.Context()); !errors.Is(err, client.ErrPartial) {
			t.Errorf("one relay down: %v", err)
		}
	}
}

// TestOwnersAreNotTold: relays that only the agent's list names do not learn
// from an owner's question who the owner is.
func TestOwnersAreNotTold(t *testing.T) {
	listed := &clienttest.Hoard{Hints: true}
	url := clienttest.StartHoard(t, listed)
	home := clienttest.StartHoard(t, &clienttest.Hoard{Hints: true, Events: []*nostr.Event{clienttest.RelayList(t, time.Now().Unix(), nostr.Tag{"r", url})}})
	var sent transcript
	m := ownerOf(t, "agent", "owner", []string{home}, sent.into)
	if err := m.c.Discover(t.Context(), m.agent); err != nil {
		t.Fatal(err)
	}
	if o, _, err := m.Others(t.Context()); err != nil || o.Begun || len(o.Keys) > 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if n := listed.Asked(); n != 1 { // for the pair's memory, by kind and author
		t.Errorf("it is asked %d times", n)
	}
}

// TestAgents: the union over relays, approved agents first, with sizes as they
// are read.
func TestAgents(t *testing.T) {
	one, two := gated(t), gated(t)
	now := time.Now().Unix()
	put(t, []string{one}, clienttest.EngramAt(t, "agent", "owner", "core", "1234", now-50), clienttest.EngramAt(t, "agent", "owner", "mem/a", "12", now-40),
		clienttest.EngramAt(t, "second", "owner", "mem/a", "1", now-10))
	put(t, []string{two}, clienttest.EngramAt(t, "agent", "owner", "mem/a", "123", now-30), clienttest.EngramAt(t, "agent", "owner", "mem/b", "1", now-60))
	key := func(name string) string { return who(t, name).PubKey() }
	c := clientFor(t, who(t, "owner"), []string{one, two}, nil)
	for _, name := range []string{"third", "agent"} {
		if _, err := ApprovalsOf(c).Allow(t.Context(), key(name)); err != nil {
			t.Fatal(err)
		}
	}
	want := []AgentMemory{
		{Agent: key("agent"), Approved: true, Core: true, Memories: 2, Bytes: 8, Last: now - 30},
		{Agent: key("third"), Approved: true},
		{Agent: key("second"), Memories: 1, Bytes: 1, Last: now - 10},
	}
	if got, status, err := Agents(t.Context(), c); err != nil || status.Partial || !slices.Equal(got.Agents, want) {
		t.Errorf("%+v, %v, %+v", got, err, status)
	}
	part := clientFor(t, who(t, "owner"), []string{one, bridgetest.Down(t)}, nil)
	if got, status, err := Agents(t.Context(), part); err != nil || !status.Partial || len(got.Agents) != 3 {
		t.Errorf("one down: %+v, %v, %+v", got, err, status)
	}
	none := clientFor(t, who(t, "courier"), []string{one}, nil)
	if got, status, err := Agents(t.Context(), none); err != nil || status.Partial || len(got.Agents) != 0 {
		t.Errorf("an owner without agents: %+v, %v, %+v", got, err, status)
	}
	none = clientFor(t, who(t, "courier"), []string{one, bridgetest.Down(t)}, nil)
	if _, _, err := Agents(t.Context(), none); !errors.Is(err, client.ErrPartial) {
		t.Errorf("none found, one down: %v", err)
	}
}

// Strangers address what they like to an owner: its own agents stand in the list
// all the same, with all that they have, and no more is fetched than is looked at.
func TestStrangersDoNotTakeTheListAway(t *testing.T) {
	now := time.Now().Unix()
	relay := &clienttest.Hoard{Hints: true}
	url := clienttest.StartHoard(t, relay)
	key := func(name string) string { return who(t, name).PubKey() }
	for i := range int64(3) {
		relay.Put(clienttest.EngramAt(t, "agent", "owner", nipae.Slug(fmt.Sprint("mem/", i)), "12", now-5000-i))
	}
	list := &nostr.Event{Kind: nostr.KindApplicationSpecificData, CreatedAt: 1, Tags: nostr.Tags{{"d", approvalsD}, {"p", key("agent")}}}
	relay.Put(signed(t, list, "owner"))
	const many = 2*maxOthers + 1
	for i := range int64(many) {
		junk := &nostr.Event{Kind: nipae.Kind, CreatedAt: nostr.Timestamp(now - i), Tags: nostr.Tags{{"d", strings.Repeat("0", 60) + fmt.Sprintf("%04d", i)}, {"p", key("owner")}}, Content: "junk"}
		relay.Put(signed(t, junk, "courier"))
	}
	relay.Put(clienttest.EngramAt(t, "second", "owner", "mem/a", "1", now))
	came := 0
	c := clientFor(t, who(t, "owner"), []string{url}, func(o *client.Options) {
		o.Trace = func(_ string, sent bool, frame []byte) {
			if !sent && strings.HasPrefix(string(frame), `["EVENT"`) {
				came++
			}
		}
	})
	got, status, err := Agents(t.Context(), c)
	want := []AgentMemory{{Agent: key("agent"), Approved: true, Memories: 3, Bytes: 6, Last: now - 5000}, {Agent: key("second"), Memories: 1, Bytes: 1, Last: now}}
	if err != nil || status.Partial || !got.Beyond || got.Looked != maxOthers || len(got.Agents) < 2 || !slices.Equal(got.Agents[:2], want) {
		t.Errorf("%+v, %v, %+v", got, err, status)
	}
	if most := maxOthers + 1 + 3 + 1; came > most {
		t.Errorf("%d events were fetched, want %d at most", came, most)
	}
}

func signed(t testing.TB, ev *nostr.Event, by string) *nostr.Event {
	t.Helper()
	if err := who(t, by).Sign(ev); err != nil {
		t.Fatal(err)
	}
	return ev
}

// gated starts engramd, which has a gate.
func gated(t testing.TB) string { return bridgetest.Start(t).URL }
