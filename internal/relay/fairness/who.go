package fairness

import (
	"context"
	"net/netip"
)

// Who names the party that a piece of work is charged to, from wide to narrow.
// The zero Who is the relay itself: it has a share like any other.
type Who struct {
	Share  string // what a share is known by: an address, a /48, "key " and 64 hex digits, or Local
	Part   string // the /64 of an IPv6 share, else ""
	Conn   uint64 // one connection, or one HTTP request
	Exempt bool   // from rates and budgets, though not from turns
}

// Local is the share of loopback and private peers that cannot be told apart,
// because a proxy in front of the relay is not configured.
const Local = "local"

type contextKey struct{}

// With returns a context whose work is charged to who.
func With(ctx context.Context, who Who) context.Context {
	return context.WithValue(ctx, contextKey{}, who)
}

// From returns whom the work of a context is charged to; the zero Who where
// nobody is said.
func From(ctx context.Context) Who {
	who, _ := ctx.Value(contextKey{}).(Who)
	return who
}

// OfAddr returns the share of an address: itself for IPv4, its /48 and within
// it its /64 for IPv6. An invalid address is Local.
func OfAddr(addr netip.Addr) (share, part string) {
	addr = addr.Unmap().WithZone("")
	switch {
	case !addr.IsValid():
		return Local, ""
	case addr.Is4():
		return addr.String(), ""
	}
	wide, _ := addr.Prefix(48) // a valid IPv6 address has both
	narrow, _ := addr.Prefix(64)
	return wide.String(), narrow.String()
}
