package fairness

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
)

// KeysPerAddress is how many shares of keys one address may have in use at a
// time. Keys beyond them count under the address.
const KeysPerAddress = 8

// Rules say how addresses are told apart.
type Rules struct {
	// Exempt frees loopback peers of rates and budgets: every public URL is a
	// loopback one, so that no stranger comes from there.
	Exempt bool
	// Common puts loopback and private peers into the one share Local: the relay
	// has a public name but no trusted proxy, so that such a peer is most likely
	// a proxy with everybody behind it.
	Common bool
	// Known reports whether a key (64 lower-case hex digits) has a share of its
	// own: it is listed, or an event of it arrived more than a day ago. An error
	// counts as no. nil knows none.
	Known func(ctx context.Context, key string) (bool, error)
}

// Shares tell whose share a connection or request belongs to. They are safe for
// concurrent use.
type Shares struct {
	rules atomic.Pointer[Rules]
	conns atomic.Uint64

	mu   sync.Mutex
	keys map[string]map[string]int // shares of keys in use by address share, and by how many
}

// NewShares makes shares under rules.
func NewShares(r Rules) *Shares {
	b := &Shares{keys: make(map[string]map[string]int)}
	b.SetRules(r)
	return b
}

// SetRules replaces the rules, for connections and requests to come.
func (b *Shares) SetRules(r Rules) { b.rules.Store(&r) }

// Enter returns whom a new connection or request of an address is charged to,
// until it proves a key that has a share of its own.
func (b *Shares) Enter(addr netip.Addr) Who {
	r := b.rules.Load()
	who := Who{Conn: b.conns.Add(1)}
	addr = addr.Unmap()
	if r.Common && (!addr.IsValid() || addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()) {
		who.Share = Local
		return who
	}
	who.Share, who.Part = OfAddr(addr)
	who.Exempt = r.Exempt && addr.IsLoopback()
	return who
}

// Prove returns whom work is charged to once who has proved a key: the key's
// share if the relay has known it for long enough and the address has a place
// left, else who as it was. Call leave once, when the connection or request
// ends.
func (b *Shares) Prove(ctx context.Context, who Who, key string) (now Who, leave func()) {
	known := b.rules.Load().Known
	if known == nil {
		return who, func() {}
	}
	if ok, err := known(ctx, key); err != nil || !ok {
		return who, func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.keys[who.Share]
	if used[key] == 0 && len(used) >= KeysPerAddress {
		return who, func() {}
	}
	if used == nil {
		used = make(map[string]int)
		b.keys[who.Share] = used
	}
	used[key]++
	address := who.Share
	var once sync.Once
	leave = func() {
		once.Do(func() { b.leave(address, key) })
	}
	return Who{Share: "key " + key, Conn: who.Conn, Exempt: who.Exempt}, leave
}

func (b *Shares) leave(address, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.keys[address]
	if used[key]--; used[key] <= 0 {
		delete(used, key)
	}
	if len(used) == 0 {
		delete(b.keys, address)
	}
}
