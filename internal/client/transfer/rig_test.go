package transfer

import (
	"net/netip"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/testkeys"
	"engramd/nips/nipae"
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

// who makes the identity of a name. Its secret key is public.
func who(t testing.TB, name string) client.Identity {
	t.Helper()
	id, err := client.NewIdentity(testkeys.New(name).Secret)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// clientFor makes a client that is closed with the test. change may be nil.
func clientFor(t testing.TB, id client.Identity, relays []string, change func(*client.Options)) *client.Client {
	t.Helper()
	o := client.Options{Relays: relays, Timeout: patience, Grace: patience, Near: anywhere} // the machine is shared, and has all relays
	if change != nil {
		change(&o)
	}
	c := client.New(id, o)
	t.Cleanup(c.Close)
	return c
}

// scaled calls try with a time limit of a second, and again with longer ones
// while it fails: tests share their machine, and a relay may have had no time
// to answer. What fails at every limit is a fault.
func scaled(t testing.TB, try func(timeout func(*client.Options)) error) {
	t.Helper()
	for limit := time.Second; ; limit *= 3 {
		err := try(func(o *client.Options) { o.Timeout, o.Grace = limit, 0 })
		if err == nil {
			return
		}
		if limit > 20*time.Second {
			t.Error(err)
			return
		}
		t.Logf("with %v: %v", limit, err)
	}
}

// agentOf is the memory of agent for owner.
func agentOf(t testing.TB, agent, owner string, relays []string, change func(*client.Options)) *memory.Memory {
	t.Helper()
	m, err := memory.AsAgent(clientFor(t, who(t, agent), relays, change), who(t, owner).PubKey())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ownerOf returns the same memory for its owner.
func ownerOf(t testing.TB, agent, owner string, relays []string, change func(*client.Options)) *memory.Memory {
	t.Helper()
	m, err := memory.AsOwner(clientFor(t, who(t, owner), relays, change), who(t, agent).PubKey())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put publishes events to relays without a client's checks.
func put(t testing.TB, relays []string, events ...*nostr.Event) {
	t.Helper()
	c := clientFor(t, who(t, "courier"), relays, nil)
	for _, ev := range events {
		all, err := c.Publish(t.Context(), ev)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if !s.Accepted {
				t.Fatalf("%s: %v", s.URL, s.Err)
			}
		}
	}
}

func mustSet(t testing.TB, m *memory.Memory, slug nipae.Slug, text string) client.Entry {
	t.Helper()
	e, _, err := m.Set(t.Context(), slug, text, memory.SetOptions{})
	if err != nil {
		t.Fatalf("set %s: %v", slug, err)
	}
	return e
}

// anywhere is client.Options.Near of a test.
func anywhere(netip.AddrPort) bool { return true }
