// Package bridgetest serves the real relay to a test: in its process, or, where
// the test is built without cgo, which the relay's database needs, beside it.
package bridgetest

import (
	"net"
	"testing"
)

// Down returns the URL of a port that nobody listens on.
func Down(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "ws://" + l.Addr().String()
}
