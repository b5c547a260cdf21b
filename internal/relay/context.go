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
	forwardKey
	baseKey
	attestationsKey
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

// WithForward returns a context in which a contract event that is stored is
// queued for further relays, by URL, in the same commit (store.PutOptions).
func WithForward(ctx context.Context, targets []string) context.Context {
	return context.WithValue(ctx, forwardKey, targets)
}

func forwardFrom(ctx context.Context) []string {
	targets, _ := ctx.Value(forwardKey).([]string)
	return targets
}

// WithBase returns a context in which an event is stored only if the event with
// this id is the head of its address, none for the zero id (store.PutOptions).
func WithBase(ctx context.Context, base [32]byte) context.Context {
	return context.WithValue(ctx, baseKey, &base)
}

func baseFrom(ctx context.Context) *[32]byte {
	base, _ := ctx.Value(baseKey).(*[32]byte)
	return base
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
