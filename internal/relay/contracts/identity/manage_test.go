package identity

import (
	"fmt"
	"testing"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/store"
)

// TestOperatorManagesIdentities: identities are listed, voided and deleted, and
// a deleted one proves nobody.
func TestOperatorManagesIdentities(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	made := r.provision(t, "agent-0000")
	if _, err := r.Bind(ctx, "bob", bob.Pub); err != nil {
		t.Fatal(err)
	}
	page, total, err := r.List(ctx, 10, 0)
	if err != nil || total != 2 || len(page) != 2 || page[0] != made.Identity || page[1].AgentID != "bob" || page[1].Provisioned || page[1].Npub == "" {
		t.Errorf("%+v of %d, %v", page, total, err)
	}
	for key, want := range map[string]bool{made.PubKey: true, bob.Pub: false} {
		if got, err := r.Provisioned(ctx, key); err != nil || got != want {
			t.Errorf("provisioned: %t, %v, want %t", got, err, want)
		}
	}
	if _, err := r.Void(ctx, "agent-0000"); err != nil {
		t.Error(err)
	}
	_, err = r.Authenticate(ctx, made.Token)
	wantCode(t, "a token that was voided", err, contracts.Unauthenticated)
	_, err = r.Void(ctx, "bob")
	wantCode(t, "a token of none", err, contracts.Conflict)
	_, err = r.Void(ctx, "zoe")
	wantCode(t, "a token of nobody", err, contracts.NotFound)
	_, err = r.Delete(ctx, "agent-0000", false)
	wantCode(t, "a key that would be lost", err, contracts.Conflict)
	for name, withKey := range map[string]bool{"agent-0000": true, "bob": false} {
		if gone, err := r.Delete(ctx, name, withKey); err != nil || gone.AgentID != name {
			t.Errorf("%s: %+v, %v", name, gone, err)
		}
		_, err := r.Delete(ctx, name, true)
		wantCode(t, "again", err, contracts.NotFound)
	}
	if held, err := r.Provisioned(ctx, made.PubKey); err != nil || held {
		t.Errorf("a key that is gone is held: %t, %v", held, err)
	}
}

// TestLookalikesAreRefused: a name that looks like a bound one cannot be bound.
func TestLookalikesAreRefused(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	if _, err := r.Bind(ctx, "Trader-Joe", alice.Pub); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"trader-joe", "Trader-Joe.", "Trader_Joe", "TraderJ0e"} {
		_, err := r.Bind(ctx, name, bob.Pub)
		wantCode(t, name, err, contracts.Conflict)
		_, err = r.Provision(ctx, name)
		wantCode(t, name, err, contracts.Conflict)
	}
	for _, name := range []string{"operator", "admin", alice.Pub[:63]} {
		_, err := r.Bind(ctx, name, bob.Pub)
		wantCode(t, name, err, contracts.Invalid)
	}
}

// TestOldNamesStayWhoseTheyAre: also names that could not be bound today.
func TestOldNamesStayWhoseTheyAre(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	if _, err := r.o.Store.AddAgent(ctx, store.Agent{ID: "operator", PubKey: alice.Pub}, [32]byte{}); err != nil {
		t.Fatal(err)
	}
	if id, err := r.Bind(ctx, "operator", alice.Pub); err != nil || id.AgentID != "operator" {
		t.Errorf("%+v, %v", id, err)
	}
	_, err := r.Bind(ctx, "operator", bob.Pub)
	wantCode(t, "another's", err, contracts.Invalid)
	if id, err := r.ByAgent(ctx, "operator"); err != nil || id == nil || fmt.Sprint(id.PubKey) != alice.Pub {
		t.Errorf("%+v, %v", id, err)
	}
}
