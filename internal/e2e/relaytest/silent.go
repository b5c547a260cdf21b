package relaytest

import (
	"io"
	"net"
)

// Silent is the URL of a relay that takes connections and never says a word.
func Silent(t T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(io.Discard, conn) // until the other side is gone
			}()
		}
	}()
	return "ws://" + l.Addr().String()
}
