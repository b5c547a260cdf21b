//go:build !cgo

package bridgetest

import (
	"testing"

	"engramd/internal/e2e/relaytest"
)

// Server is a relay on a loopback socket.
type Server struct {
	URL string // ws://127.0.0.1:PORT
}

// Start runs the relay until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	return &Server{URL: relaytest.Start(t, relaytest.Options{}).URL}
}
