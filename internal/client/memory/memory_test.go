package memory

import (
	"errors"
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

func TestWriteAndRead(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL, bridgetest.Start(t).URL}
	agent, owner := agentOf(t, "agent", "owner", relays, nil), ownerOf(t, "agent", "owner", relays, nil)

	if _, _, err := agent.Get(t.Context(), nipae.Core); !errors.Is(err, client.ErrNotFound) {
		t.Fatalf("before anything: %v", err)
	}
	before := time.Now().Unix()
	wrote, status, err := agent.Set(t.Context(), nipae.Core, "I am terse. See [[mem/a]].", SetOptions{})
	if err != nil || status.Partial || len(status.Published) != 2 || client.Accepted(status.Published) != 2 || len(status.Relays) != 2 {
		t.Fatalf("set core: %v, %+v", err, status)
	}
	if wrote.CreatedAt < before || wrote.Slug != nipae.Core || wrote.Hash != client.Hash(wrote.Text) || wrote.Size != len(wrote.Text) || len(wrote.ID) != 64 {
		t.Errorf("wrote %+v", wrote)
	}
	for name, m := range map[string]*Memory{"agent": agent, "owner": owner} {
		got, status, err := m.Get(t.Context(), nipae.Core)
		if err != nil || got != wrote || status.Partial {
			t.Errorf("%s reads %+v, %v, %+v", name, got, err, status)
		}
	}
	mustSet(t, agent, "mem/b", "b")
	mustSet(t, agent, "mem/a", "a [[mem/gone]]")
	list, status, err := listed(t, owner)
	if err != nil || status.Partial || !slices.Equal(slugs(list), []string{"mem/a", "mem/b"}) {
		t.Errorf("list %v, %v, %+v", slugs(list), err, status)
	}
	if _, status, err := agent.Remove(t.Context(), "mem/b", false); err != nil || client.Accepted(status.Published) != 2 {
		t.Fatalf("remove: %v", err)
	}
	gone, _, err := owner.Get(t.Context(), "mem/b")
	if !errors.Is(err, client.ErrTombstone) || !gone.Tombstone || gone.Hash != "" {
		t.Errorf("removed: %+v, %v", gone, err)
	}
	if _, _, err := agent.Remove(t.Context(), "mem/b", false); !errors.Is(err, client.ErrTombstone) {
		t.Errorf("removed twice: %v", err)
	}
	all, _, err := owner.ListAll(t.Context())
	if err != nil || all.Core == nil || *all.Core != wrote || len(all.Memories) != 1 || len(all.Tombstones) != 1 || all.Unreadable != 0 {
		t.Errorf("everything: %+v, %v", all, err)
	}
	g, _, err := owner.Graph(t.Context())
	if err != nil || len(g.Nodes) != 2 || !g.Reachable("mem/a") || len(g.Dangling) != 1 || len(g.Orphans) != 0 {
		t.Errorf("graph %+v, %v", g, err)
	}
}

func mustSet(t testing.TB, m *Memory, slug nipae.Slug, text string) client.Entry {
	t.Helper()
	e, _, err := m.Set(t.Context(), slug, text, SetOptions{})
	if err != nil {
		t.Fatalf("set %s: %v", slug, err)
	}
	return e
}

func slugs(entries []client.Entry) (out []string) {
	for _, e := range entries {
		out = append(out, string(e.Slug))
	}
	return out
}

// A stranger reads nothing, and pairs do not see each other's memories.
func TestPairsAreApart(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL}
	mustSet(t, agentOf(t, "agent", "owner", relays, nil), "mem/a", "for owner")
	mustSet(t, agentOf(t, "agent", "other", relays, nil), "mem/a", "for other")
	mustSet(t, agentOf(t, "second", "owner", relays, nil), "mem/a", "of second")
	mustSet(t, agentOf(t, "agent", "agent", relays, nil), "mem/a", "for myself")
	for _, tt := range []struct{ agent, owner, want string }{
		{"agent", "owner", "for owner"}, {"agent", "other", "for other"}, {"second", "owner", "of second"}, {"agent", "agent", "for myself"},
	} {
		for _, m := range []*Memory{agentOf(t, tt.agent, tt.owner, relays, nil), ownerOf(t, tt.agent, tt.owner, relays, nil)} {
			if got, _, err := m.Get(t.Context(), "mem/a"); err != nil || got.Text != tt.want {
				t.Errorf("%s for %s: %q, %v", tt.agent, tt.owner, got.Text, err)
			}
		}
	}
	stranger := clientFor(t, who(t, "stranger"), relays, nil)
	_, err := stranger.Ask(t.Context(), nipae.ListFilter(who(t, "agent").PubKey(), who(t, "owner").PubKey()))
	if !errors.Is(err, client.ErrAuth) || !errors.Is(err, client.ErrNoRelay) {
		t.Errorf("a stranger: %v", err)
	}
	nobody := clientFor(t, client.Identity{}, relays, nil)
	if _, err := nobody.Ask(t.Context(), nostr.Filter{Kinds: []int{nipae.Kind}}); !errors.Is(err, client.ErrAuth) {
		t.Errorf("nobody: %v", err)
	}
	if _, err := nobody.Ask(t.Context(), nostr.Filter{Kinds: []int{1}}); err != nil {
		t.Errorf("nobody asks for what is open: %v", err)
	}
}

func TestWhatIsRefusedBeforeItIsSent(t *testing.T) {
	h := &clienttest.Hoard{}
	relays := []string{clienttest.StartHoard(t, h)}
	agent, owner := agentOf(t, "agent", "owner", relays, nil), ownerOf(t, "agent", "owner", relays, nil)
	ctx := t.Context()
	checks := map[string]struct {
		err  error
		want error
	}{}
	_, _, err := owner.Set(ctx, "mem/a", "x", SetOptions{})
	checks["an owner writes"] = struct{ err, want error }{err, client.ErrReadOnly}
	_, _, err = owner.Remove(ctx, "mem/a", false)
	checks["an owner removes"] = struct{ err, want error }{err, client.ErrReadOnly}
	_, _, err = owner.Restore(ctx, "mem/a", When{}, nil)
	checks["an owner restores"] = struct{ err, want error }{err, client.ErrReadOnly}
	_, _, err = agent.Remove(ctx, nipae.Core, false)
	checks["core is removed"] = struct{ err, want error }{err, client.ErrCore}
	_, _, err = agent.Set(ctx, "mem/a", "", SetOptions{})
	checks["empty"] = struct{ err, want error }{err, client.ErrEmpty}
	_, _, err = agent.Set(ctx, "mem/a", strings.Repeat("x", 70_000), SetOptions{})
	checks["too large"] = struct{ err, want error }{err, client.ErrTooLarge}
	_, _, err = agent.Set(ctx, "mem/../a", "x", SetOptions{})
	checks["no slug"] = struct{ err, want error }{err, nipae.ErrSlug}
	_, _, err = agent.Set(ctx, "mem/a", "\xff", SetOptions{})
	checks["no UTF-8"] = struct{ err, want error }{err, nipae.ErrBody}
	_, _, err = agent.Remove(ctx, "mem/none", false)
	checks["nothing to remove"] = struct{ err, want error }{err, client.ErrNotFound}
	for name, c := range checks {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	if h.Count() != 0 {
		t.Errorf("%d events were sent", h.Count())
	}
	if e, _, err := agent.Set(ctx, "mem/a", "", SetOptions{AllowEmpty: true}); err != nil || e.Hash != client.Hash("") {
		t.Errorf("empty when allowed: %v", err)
	}
}

// Members of a body that this version does not know survive edits and removals.
func TestUnknownMembersAreKept(t *testing.T) {
	h := &clienttest.Hoard{}
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, h)}, nil)
	body, err := nipae.ParseBody([]byte(`{"mood":{"now":"calm"},"slug":"mem/a","value":"old","Value":1}`))
	if err != nil {
		t.Fatal(err)
	}
	h.Put(clienttest.Sealed(t, "agent", "owner", body, time.Now().Unix()-10))
	mustSet(t, m, "mem/a", "new")
	if got := newestBody(t, h, m); got != `{"mood":{"now":"calm"},"slug":"mem/a","value":"new","Value":1}` {
		t.Errorf("after set: %s", got)
	}
	if _, _, err := m.Remove(t.Context(), "mem/a", false); err != nil {
		t.Fatal(err)
	}
	if got := newestBody(t, h, m); got != `{"mood":{"now":"calm"},"slug":"mem/a","value":null,"Value":1}` {
		t.Errorf("after removal: %s", got)
	}
	mustSet(t, m, "mem/a", "again")
	if got := newestBody(t, h, m); !strings.Contains(got, `"mood"`) {
		t.Errorf("after its return: %s", got)
	}
}

// newestBody returns the body of the newest event in a hoard.
func newestBody(t testing.TB, h *clienttest.Hoard, m *Memory) string {
	t.Helper()
	found, _ := h.Find(m.all())
	engram, err := nipae.Open(m.key(), m.agent, m.owner, found[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := engram.Body.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRemoveVersion: a version is removed only if it still has the given text.
func TestRemoveVersion(t *testing.T) {
	h := &clienttest.Hoard{}
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, h)}, nil)
	first, _, err := m.Set(t.Context(), "mem/a", "one", SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := m.Set(t.Context(), "mem/a", "two", SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var conflict *client.ConflictError
	if _, _, err := m.RemoveVersion(t.Context(), "mem/a", first.Hash); !errors.As(err, &conflict) || conflict.Theirs == nil || conflict.Theirs.Hash != second.Hash {
		t.Errorf("an older version: %v", err)
	}
	if got, _, err := m.Get(t.Context(), "mem/a"); err != nil || got.Text != "two" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := m.RemoveVersion(t.Context(), "mem/a", second.Hash); err != nil {
		t.Error(err)
	}
	if _, _, err := m.RemoveVersion(t.Context(), "mem/a", second.Hash); !errors.Is(err, client.ErrTombstone) && !errors.As(err, &conflict) {
		t.Errorf("again: %v", err)
	}
}
