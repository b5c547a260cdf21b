//go:build cgo

package bridgetest

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"engramd/internal/bridge"
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
	URL   string // ws://127.0.0.1:PORT
	Relay *relay.Relay
	Store *sqlite.Store
}

// Start serves the relay with its websocket and its HTTP endpoints until the
// test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	names, err := relay.NewNames(nil, netip.MustParseAddrPort(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	table := storetest.MustTable(t, gate.Options{})
	rel, err := relay.New(relay.Config{Names: names}, table)
	if err != nil {
		t.Fatal(err)
	}
	// Cleanups run last to first: the sessions end, the store commits its last
	// batch, then the relay's dispatcher ends.
	t.Cleanup(rel.Close)
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit, o.Clock, o.Table, o.Versions = rel.Committed, time.Now, table, 100
	})
	if err := rel.Attach(s); err != nil {
		t.Fatal(err)
	}
	socket := session.New(rel, session.Options{EOSEHints: true})
	url := "ws://" + l.Addr().String()
	server := bridge.NewServer(bridge.New(bridge.Options{
		Relay: rel, Socket: socket, URLs: []string{url}, Backend: bridge.Over(rel), Names: names,
	}), patience, slog.New(slog.DiscardHandler))
	go server.Serve(l)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := socket.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return &Server{URL: url, Relay: rel, Store: s}
}
