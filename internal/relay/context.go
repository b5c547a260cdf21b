package relay

import (
	"context"
	"net/netip"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
)

type contextKey int

const (
	readerKey contextKey = iota
	addrKey
	attestationsKey
	readingKey
)

// WithReader returns a context that carries who is asking: the set of pubkeys
// that a connection proved by NIP-42 or a request by NIP-98.
func WithReader(ctx context.Context, reader gate.Reader) context.Context {
	return context.WithValue(ctx, readerKey, reader)
}

// ReaderFrom tells hooks who is asking. Without one it is nobody: the empty
// reader.
func ReaderFrom(ctx context.Context) gate.Reader {
	reader, _ := ctx.Value(readerKey).(gate.Reader)
	return reader
}

// AsAuthor returns a context in which the author of ev is asking: the server
// acts for a caller whose key the signature has proved.
func AsAuthor(ctx context.Context, ev *nostr.Event) context.Context {
	return WithReader(ctx, gate.NewReader(ev.PubKey))
}

// WithAddr returns a context that carries the client's address, already
// resolved through the trusted proxies.
func WithAddr(ctx context.Context, addr netip.Addr) context.Context {
	return context.WithValue(ctx, addrKey, addr)
}

// AddrFrom returns the client's address; invalid where there is none (imports).
func AddrFrom(ctx context.Context) netip.Addr {
	addr, _ := ctx.Value(addrKey).(netip.Addr)
	return addr
}
