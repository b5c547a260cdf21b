package fairness

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// KnownAge is how long ago an event of a key must have arrived for the key to
// have a share of its own.
const KnownAge = 24 * time.Hour

// What Keys remembers, and for how long: who was known stays so for longer than
// who was new, because a new key becomes known by waiting.
const (
	rememberedKeys = 8192
	knownFor       = time.Hour
	newFor         = time.Minute
)

// Keys says which keys have a share of their own: those that are listed, and
// those of which an event arrived more than KnownAge ago. It remembers answers
// for a while, a bounded number of them, and is safe for concurrent use.
type Keys struct {
	lookUp func(ctx context.Context, key string, before time.Time) (bool, error)
	now    func() time.Time
	listed atomic.Pointer[map[string]bool]

	mu   sync.Mutex
	seen map[string]seenKey
}

type seenKey struct {
	known bool
	until time.Time
}

// NewKeys makes Keys of which lookUp says whether an event of a key arrived
// before a time. now is the clock.
func NewKeys(lookUp func(ctx context.Context, key string, before time.Time) (bool, error), now func() time.Time) *Keys {
	return &Keys{lookUp: lookUp, now: now, seen: make(map[string]seenKey)}
}

// List replaces the keys (64 lower-case hex digits) that are known because
// somebody has named them.
func (k *Keys) List(lists ...[]string) {
	listed := make(map[string]bool)
	for _, list := range lists {
		for _, key := range list {
			listed[key] = true
		}
	}
	k.listed.Store(&listed)
}

// Known is Rules.Known.
func (k *Keys) Known(ctx context.Context, key string) (bool, error) {
	if listed := k.listed.Load(); listed != nil && (*listed)[key] {
		return true, nil
	}
	now := k.now()
	k.mu.Lock()
	seen, remembered := k.seen[key]
	k.mu.Unlock()
	if remembered && now.Before(seen.until) {
		return seen.known, nil
	}
	known, err := k.lookUp(ctx, key, now.Add(-KnownAge))
	if err != nil {
		return false, err
	}
	k.remember(key, known, now)
	return known, nil
}

func (k *Keys) remember(key string, known bool, now time.Time) {
	keep := newFor
	if known {
		keep = knownFor
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for other := range k.seen { // any of them: what is asked for again is looked up again
		if len(k.seen) < rememberedKeys {
			break
		}
		delete(k.seen, other)
	}
	k.seen[key] = seenKey{known, now.Add(keep)}
}

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
