// Package inprocess serves the real relay with the contract API in the
// process of a test.
package inprocess

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/api"
	"engramd/internal/relay/contracts/identity"
	"engramd/internal/relay/contracts/outbox"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/http"
	"engramd/internal/relay/http/bridgetest"
	"engramd/internal/relay/store/sqlite/storetest"
)

// Server is a relay on a loopback socket, with the real clock.
type Server struct {
	URL      string // ws://127.0.0.1:PORT
	Operator storetest.Key

	identities *identity.Registry
}

// Provision makes a key for an agent that has none, and returns its bearer
// token.
func (s *Server) Provision(t testing.TB, agentID string) (token string) {
	t.Helper()
	made, err := s.identities.Provision(t.Context(), agentID)
	if err != nil {
		t.Fatal(err)
	}
	return made.Token
}

// Start serves the relay, its websocket and the contract API until the test
// ends. change may be nil; it may wrap the handler that requests reach first.
func Start(t testing.TB, change func(http.Handler) http.Handler) *Server {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	served := bridgetest.Prepare(t)
	rel, s := served.Relay, served.Store
	v, err := vault.New(bytes.Repeat([]byte{7, 8}, vault.KeySize/2), rand.Reader)
	must(err)
	known := identity.New(identity.Options{Store: s, Vault: v})
	box := outbox.New(outbox.Options{Store: s, Relay: rel})
	service, err := contracts.New(contracts.Options{Store: s, Relay: rel, Table: rel.Table, Signer: known, Sealer: identity.Sealer{Vault: v}, Identities: known, Outbox: box,
		RelayKeys: storetest.Signer{Key: storetest.NewKey("relay")}})
	must(err)
	must(box.Start(t.Context(), nil))
	t.Cleanup(box.Close)
	used, err := api.OpenUsed(t.Context(), s, time.Minute, time.Now)
	must(err)
	out := &Server{URL: served.URL, Operator: storetest.NewKey("operator"), identities: known}
	served.Serve(t, relayhttp.Options{
		API: api.New(api.Options{Service: service, Identities: known, Used: used, Version: "test", URL: "http" + strings.TrimPrefix(served.URL, "ws"),
			Operator: func(key string) bool { return key == out.Operator.Pub }}),
	}, change)
	return out
}
