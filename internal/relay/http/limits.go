package relayhttp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"engramd/internal/relay/fairness"
	"engramd/nips/nip01"
)

// Limits bound what requests can make the relay do. Zero fields mean the
// defaults.
type Limits struct {
	Connections int // that are no websockets (the session counts those); 0 is no bound
	PerAddress  int // of these from one IPv4 address or IPv6 /64; not for trusted proxies, or addresses that are exempt or cannot be told apart; 0 is no bound

	Requests   int           // with proof, served at the same time; default 256
	PerShare   int           // of these for one share; default 32
	Patience   time.Duration // how long a request waits for its turn; default 5 s
	EventBytes int           // largest event; default and maximum maxBody
	Stall      time.Duration // a write without progress for this long ends the answer; default 10 s
	SmallBody  time.Duration // for a body of up to smallBody bytes to arrive; default 5 s
	LargeBody  time.Duration // for any other body to arrive; default 30 s
}

func (l Limits) withDefaults() Limits {
	l.Requests, l.PerShare = cmp.Or(l.Requests, 256), cmp.Or(l.PerShare, 32)
	l.EventBytes = min(cmp.Or(l.EventBytes, maxBody), maxBody)
	l.Patience, l.Stall = cmp.Or(l.Patience, 5*time.Second), cmp.Or(l.Stall, 10*time.Second)
	l.SmallBody, l.LargeBody = cmp.Or(l.SmallBody, 5*time.Second), cmp.Or(l.LargeBody, 30*time.Second)
	return l
}

const (
	// roomBytes bounds the bodies and answers that wait for their clients.
	roomBytes = 64 << 20
	// managerSlots is the number of places for calls by managing keys.
	managerSlots = 8
	// maxChecking bounds how many requests wait to be checked; there cannot be
	// more than connections.
	maxChecking = 1 << 16
)

// pools hold the places that requests compete for. A request has a place in one
// of the first three while the relay works for it, and none while it waits for
// its client. It has one in checking or managers while it occupies a processor.
type pools struct {
	limits atomic.Pointer[Limits]

	managing *fairness.Slots // calls by managing keys
	proved   *fairness.Slots // requests with a proof
	unproved *fairness.Slots // all other requests: few
	checking *fairness.Slots // signatures, hashes, JSON
	managers *fairness.Slots // signatures that claim to be by managing keys
	room     *fairness.Room  // bytes of bodies, and of answers on their way
}

func newPools() pools {
	processors := fairness.Processors()
	checks := fairness.SlotLimits{Places: 2 * processors, Waiting: maxChecking, WaitingPerShare: maxChecking, Patience: 5 * time.Second}
	few := checks
	few.Places = 2
	slots := fairness.SlotLimits{}
	return pools{
		managing: fairness.NewSlots(fairness.SlotLimits{Places: managerSlots, Waiting: 16 * managerSlots, WaitingPerShare: 16 * managerSlots, Patience: 5 * time.Second}),
		proved:   fairness.NewSlots(slots), unproved: fairness.NewSlots(slots),
		checking: fairness.NewSlots(checks), managers: fairness.NewSlots(few),
		room: fairness.NewRoom(roomBytes),
	}
}

// SetLimits replaces the limits, for requests to come.
func (h *Handler) SetLimits(l Limits) {
	l = l.withDefaults()
	h.in.pools.limits.Store(&l)
	slots := fairness.SlotLimits{
		Places: l.Requests, PerShare: l.PerShare, Waiting: 4 * l.Requests, WaitingPerShare: max(l.Requests/2, 1), Patience: l.Patience,
	}
	h.in.pools.proved.SetLimits(slots)
	slots.Places = max(l.Requests/8, 4)
	slots.PerShare /= 4
	slots.Waiting, slots.WaitingPerShare = 4*slots.Places, slots.Places
	h.in.pools.unproved.SetLimits(slots)
}

// compute runs fn while this request has one of the places.
func (in *intake) compute(ctx context.Context, places *fairness.Slots, fn func() error) error {
	place, err := places.Acquire(ctx, fairness.From(ctx))
	if err != nil {
		return in.noPlace(err)
	}
	defer place.Release()
	return fn()
}

// noPlace returns the answer to an error of Slots.
func (in *intake) noPlace(err error) error {
	switch {
	case errors.Is(err, fairness.ErrCrowded):
		in.metrics.HTTP.HTTPRefused("crowded")
		return refused(nip01.PrefixRateLimited, "too many requests at once; retry in 1s")
	case errors.Is(err, fairness.ErrPatience):
		in.metrics.HTTP.HTTPRefused("late")
		return refused(nip01.PrefixRateLimited, "too many requests at once, and none was done in time; retry in 1s")
	}
	return failed(err)
}

// Proxy says who is trusted to name a client's address. The zero Proxy trusts
// nobody.
type Proxy struct {
	Trusted []netip.Prefix
	Header  string // a single address, or a list as X-Forwarded-For is
}

// ClientAddr returns the address of the client behind a request: the socket's,
// unless that is a trusted proxy's; then the last address in the header that is
// not itself a trusted proxy's. Text that a client wrote into the header
// precedes what proxies added, so it is never reached. If the header is
// malformed it returns the proxy's own address.
func (p *Proxy) ClientAddr(r *http.Request) netip.Addr {
	socket := parseAddr(r.RemoteAddr)
	if p.Header == "" || !p.trusts(socket) {
		return socket
	}
	hops := strings.Split(strings.Join(r.Header.Values(p.Header), ","), ",")
	client := socket
	for _, hop := range slices.Backward(hops) {
		addr := parseAddr(strings.TrimSpace(hop))
		if !addr.IsValid() {
			break
		}
		client = addr
		if !p.trusts(addr) {
			break
		}
	}
	return client
}

func (p *Proxy) trusts(addr netip.Addr) bool {
	return addr.IsValid() && slices.ContainsFunc(p.Trusted, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// parseAddr reads an address with or without port, in brackets or without. An
// IPv4 address in IPv6 form becomes plain, a zone is dropped.
func parseAddr(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}
