package identities_test

import (
	"errors"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/identities"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestOperatorListsAndDropsIdentities, and has room where others have none.
func TestOperatorListsAndDropsIdentities(t *testing.T) {
	identities.SetMaxAgents(t, 2)
	alice, bob, carol := storetest.NewKey("alice"), storetest.NewKey("bob"), storetest.NewKey("carol")
	s, ctx := storetest.MustOpen(t), t.Context()
	add := func(id, key string, sealed []byte, token byte) error {
		_, err := s.AddAgent(ctx, store.Agent{ID: id, PubKey: key, Sealed: sealed}, [32]byte{token})
		return err
	}
	if err := errors.Join(add("b", bob.Pub, nil, 0), add("a", alice.Pub, nil, 0)); err != nil {
		t.Fatal(err)
	}
	if err := add("c", carol.Pub, nil, 0); !errors.Is(err, store.ErrAgentsFull) {
		t.Errorf("one too many: %v", err)
	}
	if err := add("made", carol.Pub, []byte("sealed"), 1); err != nil {
		t.Errorf("the operator's: %v", err)
	}
	for key, want := range map[string]bool{alice.Pub: false, carol.Pub: true, "no key": false} {
		if made, err := s.AgentProvisioned(ctx, key); err != nil || made != want {
			t.Errorf("made by the operator: %t, %v, want %t", made, err, want)
		}
	}
	page, total, err := s.AgentPage(ctx, 2, 1)
	if err != nil || total != 3 || len(page) != 2 || page[0].ID != "b" || page[1].ID != "made" || !page[1].Provisioned {
		t.Errorf("%+v of %d, %v", page, total, err)
	}
	if err := s.Tell(ctx, store.DropTokens{ID: "made"}); err != nil {
		t.Error(err)
	}
	if a, err := s.AgentByToken(ctx, [32]byte{1}); err != nil || a != nil {
		t.Errorf("a void token leads to %+v, %v", a, err)
	}
	for what, err := range map[string]struct{ got, want error }{
		"a token of none":      {s.Tell(ctx, store.DropTokens{ID: "a"}), store.ErrNotHeld},
		"a token of nobody":    {s.Tell(ctx, store.DropTokens{ID: "z"}), store.ErrNotHeld},
		"nobody":               {s.Tell(ctx, store.DropAgent{ID: "z", WithKey: true}), store.ErrNoAgent},
		"a key is kept":        {s.Tell(ctx, store.DropAgent{ID: "made"}), store.ErrKeyKept},
		"a key, with the word": {s.Tell(ctx, store.DropAgent{ID: "made", WithKey: true}), nil},
		"a name":               {s.Tell(ctx, store.DropAgent{ID: "a"}), nil},
	} {
		if !errors.Is(err.got, err.want) || err.want == nil && err.got != nil {
			t.Errorf("%s: %v, want %v", what, err.got, err.want)
		}
	}
	if err := add("A", carol.Pub, nil, 0); err != nil {
		t.Errorf("a name that is free again: %v", err)
	}
	if report, err := s.Check(ctx); err != nil || !report.OK() {
		t.Errorf("check: %v, %v", report.Problems, err)
	}
}
