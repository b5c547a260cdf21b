package identities_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/identities"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestAgentsHaveOneNameAndOneKey(t *testing.T) {
	s, ctx := storetest.MustOpen(t), t.Context()
	add := func(a store.Agent, want error) store.Agent {
		t.Helper()
		got, err := s.AddAgent(ctx, a, [32]byte{1})
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", a.ID, err, want)
		}
		return got
	}
	first := add(store.Agent{ID: "agent-0000", PubKey: alice.Pub}, nil)
	if first.Created != storetest.Start.Unix() || first.Sealed != nil {
		t.Errorf("stored %+v", first)
	}
	if again := add(store.Agent{ID: "agent-0000", PubKey: alice.Pub}, nil); again.Created != first.Created {
		t.Errorf("bound again: %+v", again)
	}
	add(store.Agent{ID: "agent-0000", PubKey: bob.Pub}, store.ErrNameTaken)
	add(store.Agent{ID: "agent-0000", PubKey: alice.Pub, Sealed: []byte("x")}, store.ErrNameTaken)
	add(store.Agent{ID: "another", PubKey: alice.Pub}, store.ErrKeyNamed)
	if _, err := s.AddAgent(ctx, store.Agent{ID: "x", PubKey: "not a key"}, [32]byte{}); err == nil {
		t.Error("an identity without a key was stored")
	}
	for _, find := range []func() (*store.Agent, error){
		func() (*store.Agent, error) { return s.AgentByID(ctx, "agent-0000") },
		func() (*store.Agent, error) { return s.AgentByKey(ctx, alice.Pub) },
	} {
		if a, err := find(); err != nil || a == nil || a.ID != "agent-0000" || a.PubKey != alice.Pub {
			t.Errorf("found %+v, %v", a, err)
		}
	}
	for _, find := range []func() (*store.Agent, error){
		func() (*store.Agent, error) { return s.AgentByID(ctx, "Agent-0000") },
		func() (*store.Agent, error) { return s.AgentByKey(ctx, bob.Pub) },
		func() (*store.Agent, error) { return s.AgentByKey(ctx, "") },
		func() (*store.Agent, error) { return s.AgentByToken(ctx, [32]byte{1}) },
	} {
		if a, err := find(); err != nil || a != nil {
			t.Errorf("found %+v, %v", a, err)
		}
	}
	wantWhole(t, s)
}

func TestTokensAndKeysAreForgotten(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, sealed := t.Context(), []byte(strings.Repeat("sealed secret key ", 4))
	holder := func(token byte) string {
		a, err := s.AgentByToken(ctx, [32]byte{token})
		if err != nil {
			t.Fatal(err)
		}
		if a == nil {
			return ""
		}
		return a.ID
	}
	if _, err := s.AddAgent(ctx, store.Agent{ID: "a", PubKey: alice.Pub, Sealed: sealed}, [32]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddAgent(ctx, store.Agent{ID: "b", PubKey: bob.Pub, Sealed: []byte("other")}, [32]byte{2}); err != nil {
		t.Fatal(err)
	}
	if holder(1) != "a" || holder(2) != "b" || holder(3) != "" {
		t.Error("tokens are not their agents'")
	}
	if err := s.Tell(ctx, store.ReplaceToken{ID: "a", Hash: [32]byte{3}}); err != nil || holder(1) != "" || holder(3) != "a" || holder(2) != "b" {
		t.Errorf("a token was replaced: %v", err)
	}
	if err := s.Tell(ctx, store.ForgetKey{ID: "a", Sealed: []byte("not this")}); !errors.Is(err, store.ErrNotHeld) || holder(3) != "a" {
		t.Errorf("another key than the one that is there: %v", err)
	}
	if err := s.Tell(ctx, store.ForgetKey{ID: "a", Sealed: sealed}); err != nil || holder(3) != "" || holder(2) != "b" {
		t.Errorf("forget: %v", err)
	}
	for what, err := range map[string]error{
		"forget again": s.Tell(ctx, store.ForgetKey{ID: "a", Sealed: sealed}), "forget nothing": s.Tell(ctx, store.ForgetKey{ID: "a"}),
		"token without a key": s.Tell(ctx, store.ReplaceToken{ID: "a", Hash: [32]byte{4}}), "token of nobody": s.Tell(ctx, store.ReplaceToken{ID: "c", Hash: [32]byte{4}}),
	} {
		if !errors.Is(err, store.ErrNotHeld) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if a, err := s.AgentByID(ctx, "a"); err != nil || a == nil || a.Sealed != nil || a.PubKey != alice.Pub {
		t.Errorf("what is left: %+v, %v", a, err)
	}
	wantWhole(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(o.Path)
	if err != nil || bytes.Contains(file, sealed) || !bytes.Contains(file, []byte("other")) {
		t.Errorf("%v, the file has what was forgotten: %t", err, bytes.Contains(file, sealed))
	}
}

// TestVaultCheckHoldsWhatIsSealed: the master key may change as long as nothing
// is sealed with it.
func TestVaultCheckHoldsWhatIsSealed(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	set := func(check byte, wantChanged bool, want error) {
		t.Helper()
		if changed, err := s.SetVaultCheck(t.Context(), []byte{check}); changed != wantChanged || !errors.Is(err, want) {
			t.Errorf("set %d: changed %t, %v", check, changed, err)
		}
	}
	wantCheck := func(want []byte) {
		t.Helper()
		if check, err := s.VaultCheck(t.Context()); err != nil || !bytes.Equal(check, want) {
			t.Errorf("check %x, %v, want %x", check, err, want)
		}
	}
	set(1, true, nil)
	set(1, false, nil)
	set(2, true, nil)
	wantCheck(nil)
	if _, err := s.AddAgent(t.Context(), store.Agent{ID: "a", PubKey: alice.Pub, Sealed: []byte("x")}, [32]byte{1}); err != nil {
		t.Fatal(err)
	}
	wantCheck([]byte{2})
	set(3, false, store.ErrOtherVault)
	set(2, false, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.MustOpen(t, func(c *sqlite.Options) { c.Path = o.Path })
	wantCheck([]byte{2})
	if err := s.Tell(t.Context(), store.ForgetKey{ID: "a", Sealed: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	wantCheck(nil)
	entry := alice.Fake(30090, 1, "x", nostr.Tag{"d", "c"}, nostr.Tag{"t", "note"}, nostr.Tag{"p", bob.Pub})
	put(t, s, entry, store.Stored)
	wantCheck(nil)
	if _, err := storetest.OnWriter(identities.DB(s), `INSERT INTO contract_entries(contract, author, other, created_at, id, form, type, entry, arrived_at, data)
		VALUES ('c', x'01', x'02', 1, x'03', 2, 'note', 'mem_1', 1, x'04') RETURNING 1`); err != nil {
		t.Fatal(err)
	}
	wantCheck([]byte{2})
}

// TestVanishedAgentHasNoIdentity: a request to vanish takes name, kept key and
// tokens with it; nobody else gets the name, and whoever has the key may have
// it again. A younger identity stays.
func TestVanishedAgentHasNoIdentity(t *testing.T) {
	clock := storetest.NewClock()
	s, ctx := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now }), t.Context()
	hash := [32]byte{1}
	for _, a := range []store.Agent{{ID: "agent", PubKey: alice.Pub, Sealed: []byte("sealed key")}, {ID: "other", PubKey: bob.Pub, Sealed: []byte("x")}} {
		if _, err := s.AddAgent(ctx, a, hash); err != nil {
			t.Fatal(err)
		}
		hash[0]++
	}
	vanish := func(at int64) {
		t.Helper()
		put(t, s, contractEvent(alice, 62, "x", bob.Pub, storetest.Start.Unix()+at, "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
	}
	named := func(key string, want bool) {
		t.Helper()
		if a, err := s.AgentByKey(ctx, key); err != nil || (a != nil) != want {
			t.Errorf("an identity: %+v, %v, want %t", a, err, want)
		}
	}
	vanish(-1)
	named(alice.Pub, true)
	vanish(5)
	named(alice.Pub, false)
	named(bob.Pub, true)
	if a, err := s.AgentByID(ctx, "agent"); err != nil || a != nil {
		t.Errorf("the name leads to %+v, %v", a, err)
	}
	if a, err := s.AgentByToken(ctx, [32]byte{1}); err != nil || a != nil {
		t.Errorf("the token leads to %+v, %v", a, err)
	}
	if n := rows(t, s, "contract_agents") + rows(t, s, "contract_tokens"); n != 2 {
		t.Errorf("%d rows, want those of the other", n)
	}
	if _, err := s.AddAgent(ctx, store.Agent{ID: "agent", PubKey: carol.Pub}, hash); !errors.Is(err, store.ErrNameTaken) {
		t.Errorf("another takes the name: %v", err)
	}
	clock.Add(10 * time.Second)
	if _, err := s.AddAgent(ctx, store.Agent{ID: "agent", PubKey: alice.Pub}, hash); err != nil {
		t.Errorf("who comes back: %v", err)
	}
	if _, err := s.AddAgent(ctx, store.Agent{ID: "agent", PubKey: carol.Pub}, hash); !errors.Is(err, store.ErrNameTaken) {
		t.Errorf("another takes the name then: %v", err)
	}
	if n := rows(t, s, "contract_names_gone"); n != 0 {
		t.Errorf("%d names are gone", n)
	}
	wantWhole(t, s)
}
