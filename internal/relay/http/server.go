package relayhttp

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// connKey is the context key of a connection's number.
type connKey struct{}

// NewServer wraps the handler for the public port. handshake bounds the time
// for a request's headers; the other limits end when a websocket takes over the
// connection. Server errors (mostly a scanner's nonsense) are logged at level
// debug.
func NewServer(h *Handler, handshake time.Duration, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:   h,
		ConnState: h.pending.connState,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, h.in.shares.Enter(netip.Addr{}).Conn)
		},
		ReadHeaderTimeout: handshake,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
