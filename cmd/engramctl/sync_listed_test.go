package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"engramd/internal/e2e/relaytest"
)

// TestSyncTellsListedRelaysLittle: sync without relays asks relays that only
// the agent's list names by websocket alone, because a request over HTTP is
// signed, or tells what is about to be compared.
func TestSyncTellsListedRelaysLittle(t *testing.T) {
	asked := newPlaces(t)
	var mu sync.Mutex
	var overHTTP []string
	sockets := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if websocket.IsWebSocketUpgrade(r) {
			sockets++
		} else {
			overHTTP = append(overHTTP, r.URL.String())
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer srv.Close()
	home := asked.url(current)
	asked.plantList(t, home, "ws"+strings.TrimPrefix(srv.URL, "http"))
	for _, who := range []identity{asked.agent, append(asked.owner, "ENGRAM_AGENT="+relaytest.Agent().Pub)} {
		got := asked.runAs(t, who, []string{home}, "", "sync")
		mu.Lock()
		if got.code != 4 || sockets == 0 || len(overHTTP) > 0 {
			t.Errorf("exit code %d, %d connections, asked over HTTP: %v\n%s%s", got.code, sockets, overHTTP, got.stdout, got.stderr)
		}
		mu.Unlock()
	}
}
