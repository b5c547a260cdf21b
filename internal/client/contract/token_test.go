//go:build cgo

package contract_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/e2e/inprocess"
	"engramd/internal/relay/http/bridgetest"
)

// TestRenewToken: only the operator renews the token of a kept key.
func TestRenewToken(t *testing.T) {
	relay := inprocess.Start(t, nil)
	operator, poster := contractsOf(t, "operator", relay.URL), contractsOf(t, "poster", relay.URL)
	first := relay.Provision(t, "agent-0000")
	token, _, err := operator.RenewToken(t.Context(), "agent-0000")
	if err != nil || token == first || !strings.HasPrefix(token, "engramd_agent_") {
		t.Fatalf("%q, %v", token, err)
	}
	for proof, want := range map[string]int{first: http.StatusUnauthorized, token: http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+strings.TrimPrefix(relay.URL, "ws")+"/api/escrow/contracts", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+proof)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
	}
	for name, c := range map[string]struct {
		by   *contract.Contracts
		id   string
		want error
	}{
		"another": {poster, "agent-0000", client.ErrAuth}, "unknown": {operator, "nobody", client.ErrNotFound},
		"a path": {operator, "..", client.ErrInvalid}, "nothing": {operator, "", client.ErrInvalid},
		"no API": {contractsOf(t, "operator", bridgetest.Start(t).URL), "agent-0000", client.ErrNoAPI},
	} {
		if token, _, err := c.by.RenewToken(t.Context(), c.id); token != "" || !errors.Is(err, c.want) {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
}
