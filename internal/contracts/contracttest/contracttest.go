// Package contracttest serves the real relay with the contract API in the process
// of a test.
package contracttest

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"engramd/internal/bridge"
	"engramd/internal/contracts"
	"engramd/internal/contracts/api"
	"engramd/internal/contracts/identity"
	"engramd/internal/contracts/outbox"
	"engramd/internal/contracts/vault"
	"engramd/internal/gate"
	"engramd/internal/relay"
	"engramd/internal/session"
	"engramd/internal/store/sqlite"
	"engramd/internal/store/sqlite/storetest"
)

// patience is how long the sessions may take to end.
const patience = 20 * time.Second

// Server is a relay on a loopback socket, by its real clock.
type Server struct {
	URL      string // ws://127.0.0.1:PORT
	Operator storetest.Key

	identities *identity.Registry
}

// Provision makes a key for an agent that has none, and gives its bearer token.
func (s *Server) Provision(t testing.TB, agentID string) (token string) {
	t.Helper()
	made, err := s.identities.Provision(t.Context(), agentID)
	if err != nil {
		t.Fatal(err)
	}
	return made.Token
}

// Start serves the relay, its websocket and the contract API until the test ends.
// change may be nil; it is given what a request meets before the relay does.
func Start(t testing.TB, change func(http.Handler) http.Handler) *Server {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	names, err := relay.NewNames(nil, netip.MustParseAddrPort(l.Addr().String()))
	must(err)
	table := storetest.MustTable(t, gate.Options{})
	rel, err := relay.New(relay.Config{Names: names}, table)
	must(err)
	t.Cleanup(rel.Close) // cleanups run last to first: this after the store's
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit, o.Clock, o.Table, o.Versions = rel.Committed, time.Now, table, 100
	})
	must(rel.Attach(s))
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
	out := &Server{URL: "ws://" + l.Addr().String(), Operator: storetest.NewKey("operator"), identities: known}
	socket := session.New(rel, session.Options{EOSEHints: true})
	handler := bridge.New(bridge.Options{
		Relay: rel, Socket: socket, URLs: []string{out.URL}, Backend: bridge.Over(rel), Names: names,
		API: api.New(api.Options{Service: service, Identities: known, Used: used, Version: "test", URL: "http://" + l.Addr().String(),
			Operator: func(key string) bool { return key == out.Operator.Pub }}),
	})
	server := bridge.NewServer(handler, patience, slog.New(slog.DiscardHandler))
	if change != nil {
		server.Handler = change(handler)
	}
	go server.Serve(l)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := socket.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return out
}
