//go:build cgo

package bridgetest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/gate"
	relayhttp "engramd/internal/relay/http"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/internal/relay/websocket"
)

// patience is how long the sessions may take to end.
const patience = time.Minute

// Server is a relay on a loopback socket, by the real clock unless StartAt says otherwise.
type Server struct {
	URL   string // ws://127.0.0.1:PORT
	Relay *relay.Relay
	Store *sqlite.Store

	Limits config.Bounds // of its sessions; what Serve finds holds

	listener net.Listener
}

// Start serves the relay with its websocket and its HTTP endpoints until the
// test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := Prepare(t)
	s.Serve(t, relayhttp.Options{}, nil)
	return s
}

// StartAt is Start by another clock.
func StartAt(t testing.TB, clock func() time.Time) *Server {
	t.Helper()
	s := prepare(t, clock)
	s.Serve(t, relayhttp.Options{Clock: clock}, nil)
	return s
}

// Prepare makes a relay over a new store, under gate options if they are given, and
// takes a port for it, which Serve
// serves.
func Prepare(t testing.TB, rules ...gate.Options) *Server {
	t.Helper()
	return prepare(t, time.Now, rules...)
}

func prepare(t testing.TB, clock func() time.Time, rules ...gate.Options) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	names, err := relay.NewNames(nil, netip.MustParseAddrPort(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	table := storetest.MustTable(t, append(rules, gate.Options{})[0])
	rel, err := relay.New(relay.Config{Names: names, Info: relay.Info{Further: []int{77}}, Clock: clock}, table)
	if err != nil {
		t.Fatal(err)
	}
	// Cleanups run last to first: the sessions end, the store commits its last
	// batch, then the relay's dispatcher ends.
	t.Cleanup(rel.Close)
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit, o.Clock, o.Table, o.Versions = rel.Committed, clock, table, 100
	})
	if err := rel.Attach(s); err != nil {
		t.Fatal(err)
	}
	return &Server{URL: "ws://" + l.Addr().String(), Relay: rel, Store: s, Limits: config.Default().Bounds(), listener: l}
}

// Serve serves until the test ends, with what o adds to the relay itself. change
// may be nil; it is given what a request meets before the relay does.
func (s *Server) Serve(t testing.TB, o relayhttp.Options, change func(http.Handler) http.Handler) {
	t.Helper()
	socket := websocket.New(s.Relay, websocket.Options{Limits: s.Limits, Replica: func(r gate.Reader) bool { return s.Relay.Table().Replicates(r) }})
	o.Relay, o.Socket, o.URLs, o.Backend, o.Names = s.Relay, socket, []string{s.URL}, relayhttp.Over(s.Relay), s.Relay.Names()
	handler := relayhttp.New(o)
	server := relayhttp.NewServer(handler, patience, slog.New(slog.DiscardHandler))
	if change != nil {
		server.Handler = change(handler)
	}
	go server.Serve(s.listener)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := socket.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}
