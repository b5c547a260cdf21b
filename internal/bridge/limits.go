package bridge

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound what signed requests can make the relay do. Zero fields mean
// the defaults.
type Limits struct {
	Requests     int           // answered at once; default 256
	PerAddress   int           // of them from one IPv4 address or IPv6 /64; default 32, negative is no limit
	EventBytes   int           // largest event; default and maximum maxBody
	Filters      int           // in one request; default 16
	FilterValues int           // in one filter; default 2,000
	Stall        time.Duration // a write that makes no progress for so long ends the answer; default 10 s
}

func (l Limits) withDefaults() Limits {
	set := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	set(&l.Requests, 256)
	set(&l.PerAddress, 32)
	set(&l.EventBytes, maxBody)
	set(&l.Filters, 16)
	set(&l.FilterValues, 2000)
	l.EventBytes = min(l.EventBytes, maxBody)
	if l.Stall <= 0 {
		l.Stall = 10 * time.Second
	}
	return l
}

// slots counts the requests being answered. Each holds a page of events and a
// body at most, so that their number bounds the memory of all.
type slots struct {
	limits atomic.Pointer[Limits]
	exempt func(netip.Addr) bool // from the bound per address

	mu    sync.Mutex
	total int
	from  map[netip.Prefix]int
}

// enter takes a slot. full says which bound is reached; "" means that leave
// gives the slot back.
func (s *slots) enter(addr netip.Addr) (leave func(), full string) {
	limits, network := s.limits.Load(), networkOf(addr)
	free := !addr.IsValid() || addr.IsLoopback() || s.exempt(addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.total >= limits.Requests:
		return nil, "too many requests at once"
	case limits.PerAddress > 0 && s.from[network] >= limits.PerAddress && !free:
		return nil, "too many requests at once from your address"
	}
	s.total++
	s.from[network]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		if s.from[network]--; s.from[network] == 0 {
			delete(s.from, network)
		}
	}, ""
}
