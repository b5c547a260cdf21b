//go:build cgo

package contract_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/e2e/inprocess"
	"engramd/internal/relay/http/bridgetest"
)

// tokenOf is contract memory by a bearer token.
func tokenOf(t testing.TB, token, relay string) *contract.Contracts {
	t.Helper()
	c, err := client.NewBearer(token, relay, client.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return contract.Of(c)
}

// TestTokensDoWhatKeysDo: two agents whose keys the relay keeps do business
// without a key of their own.
func TestTokensDoWhatKeysDo(t *testing.T) {
	relay := inprocess.Start(t, nil)
	first := relay.Provision(t, "agent-0000")
	poster, worker := tokenOf(t, first, relay.URL), tokenOf(t, relay.Provision(t, "agent-0001"), relay.URL)
	ctx := t.Context()
	if poster.PubKey() != "" {
		t.Error("it was asked before anything was wanted")
	}
	c := done[contract.Contract](t)(poster.New(ctx, contract.Offer{Worker: "agent-0001", Description: "Civic summary", AmountSats: 5000}))
	if c.Poster.PubKey != poster.PubKey() || len(poster.PubKey()) != 64 || c.Poster.AgentID != "agent-0000" {
		t.Errorf("%+v by %s", c, poster.PubKey())
	}
	moved := done[contract.Contract](t)(worker.Move(ctx, c.ID, "", "accepted", "I take it", nil))
	if moved.Status != "accepted" || moved.Role(worker.PubKey()) != "worker" {
		t.Errorf("%+v", moved)
	}
	say := done[contract.Entry](t)
	say(worker.Say(ctx, c.ID, "", contract.Saying{Type: "message", Content: "Understood"}))
	if e := say(worker.Say(ctx, c.ID, "", contract.Saying{Type: "note", Visibility: contract.VisibilityPrivate, Content: "for me"})); e.Visibility != contract.VisibilityWorker {
		t.Errorf("%+v", e)
	}
	say(worker.Say(ctx, c.ID, "", contract.Saying{Type: "deliverable", Content: "The summary", Attachments: []string{"https://example.com/s.pdf"}}))
	for who, want := range map[*contract.Contracts]int{poster: 2, worker: 3} {
		th := thread(t, who, c.ID)
		if len(th.Entries) != want || !th.API {
			t.Errorf("%d entries, want %d", len(th.Entries), want)
		}
		for _, e := range th.Entries {
			if shared := e.Visibility == contract.VisibilityShared; shared && e.Signature != contract.SignatureHolds {
				t.Errorf("%s: signature %s", e.Content, e.Signature)
			}
		}
		all, _, err := who.List(ctx, "")
		if err != nil || len(all.Contracts) != 1 || all.Contracts[0].ID != c.ID {
			t.Errorf("%+v, %v", all, err)
		}
	}
	if _, _, err := worker.Say(ctx, c.ID, "", contract.Saying{Type: "message", Content: "x", Sealed: true}); !errors.Is(err, client.ErrNoKey) {
		t.Errorf("sealed: %v", err)
	}
	if me, _, err := poster.Me(ctx); err != nil || me.AgentID != "agent-0000" || me.PubKey != poster.PubKey() || !me.Provisioned {
		t.Errorf("%+v, %v", me, err)
	}
	renewed, _, err := poster.RenewToken(ctx, "agent-0000")
	if err != nil || renewed == first {
		t.Errorf("renewed: %v", err)
	}
	if _, _, err := tokenOf(t, first, relay.URL).List(ctx, ""); !errors.Is(err, client.ErrAuth) || strings.Contains(err.Error(), first) {
		t.Errorf("a token that is void: %v", err)
	}
	if _, _, err := tokenOf(t, renewed, relay.URL).VoidToken(ctx, "agent-0000"); err != nil {
		t.Error(err)
	}
	if _, _, err := tokenOf(t, renewed, relay.URL).Thread(ctx, c.ID, ""); !errors.Is(err, client.ErrAuth) {
		t.Errorf("a token that was voided: %v", err)
	}
}

// TestTokensGoWhereTheyWereMade: over a line that nobody else reads, to one
// relay, and with no redirect elsewhere.
func TestTokensGoWhereTheyWereMade(t *testing.T) {
	const token = "engramd_agent_0123456789"
	for relay, want := range map[string]error{
		"ws://relay.example": client.ErrCleartext, "ws://192.0.2.1:7447": client.ErrCleartext, "wss://relay.example": nil, "ws://127.0.0.1:1": nil,
		"ws://[::1]:1": nil, "ws://localhost:1": nil, "http://127.0.0.1": client.ErrInvalid, "": client.ErrInvalid,
	} {
		c, err := client.NewBearer(token, relay, client.Options{})
		if !errors.Is(err, want) || want == nil && err != nil || err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v, want %v", relay, err, want)
		}
		if c != nil && strings.Contains(fmt.Sprintf("%v %+v %#v %#v", c, c, c, contract.Of(c)), token) {
			t.Error("the token is printed")
		}
	}
	if _, err := client.NewBearer("two words", "wss://relay.example", client.Options{}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("no token: %v", err)
	}
	var seen string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen += r.Header.Get("Authorization") }))
	defer thief.Close()
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer liar.Close()
	var wire strings.Builder
	c, err := client.NewBearer(token, "ws"+strings.TrimPrefix(liar.URL, "http"), client.Options{Timeout: time.Minute,
		Trace: func(_ string, _ bool, frame []byte) { wire.Write(frame) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, status, err := contract.Of(c).List(t.Context(), "")
	if err == nil || seen != "" || strings.Contains(fmt.Sprint(err, status, wire.String()), token) {
		t.Errorf("%v, another relay got %q", err, seen)
	}
	none := tokenOf(t, token, bridgetest.Start(t).URL)
	if _, _, err := none.New(t.Context(), contract.Offer{Description: "x"}); !errors.Is(err, client.ErrNoAPI) {
		t.Errorf("a relay without the API: %v", err)
	}
}

// TestOperatorManagesIdentities over the API.
func TestOperatorManagesIdentities(t *testing.T) {
	relay := inprocess.Start(t, nil)
	operator, other := contractsOf(t, "operator", relay.URL), contractsOf(t, "other", relay.URL)
	token := relay.Provision(t, "agent-0000")
	if _, _, err := other.Bind(t.Context(), "sami"); err != nil {
		t.Fatal(err)
	}
	page, _, err := operator.Identities(t.Context(), 1, 1)
	if err != nil || page.Total != 2 || len(page.Page) != 1 || page.Page[0].AgentID != "sami" || page.Page[0].PubKey != other.PubKey() {
		t.Errorf("%+v, %v", page, err)
	}
	if me, _, err := other.Me(t.Context()); err != nil || me.AgentID != "sami" {
		t.Errorf("%+v, %v", me, err)
	}
	if _, _, err := other.Identities(t.Context(), 10, 0); !errors.Is(err, client.ErrAuth) {
		t.Errorf("another lists: %v", err)
	}
	for _, c := range []struct {
		by      *contract.Contracts
		name    string
		withKey bool
		want    error
	}{{other, "sami", false, client.ErrAuth}, {operator, "agent-0000", false, client.ErrConflict}, {operator, "agent-0000", true, nil}, {operator, "sami", false, nil},
		{operator, "sami", false, client.ErrNotFound}} {
		id, _, err := c.by.DeleteIdentity(t.Context(), c.name, c.withKey)
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || id.AgentID != c.name) {
			t.Errorf("%s: %+v, %v, want %v", c.name, id, err, c.want)
		}
	}
	if _, _, err := tokenOf(t, token, relay.URL).List(t.Context(), ""); !errors.Is(err, client.ErrAuth) {
		t.Errorf("the token of an identity that is gone: %v", err)
	}
	if _, _, err := contractsOf(t, "another", relay.URL).Bind(t.Context(), "Sami"); err != nil {
		t.Errorf("the name is free again: %v", err)
	}
}
