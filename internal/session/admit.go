package session

import (
	"net/netip"
	"sync"
)

// admission counts open connections, all of them and by address.
type admission struct {
	mu     sync.Mutex
	total  int
	byAddr map[netip.Prefix]int
}

// place is what an address counts under: IPv4 addresses by themselves, IPv6
// ones by their /64, loopback and unknown ones not at all.
func place(addr netip.Addr) (netip.Prefix, bool) {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() || addr.IsLoopback() {
		return netip.Prefix{}, false
	}
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	prefix, err := addr.Prefix(bits)
	return prefix, err == nil
}

// enter admits a connection, or says which bound is reached: "total" or
// "address".
func (a *admission) enter(addr netip.Addr, lim *Limits) (refused string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if lim.Connections >= 0 && a.total >= lim.Connections {
		return "total"
	}
	if p, counts := place(addr); counts {
		if lim.PerAddress >= 0 && a.byAddr[p] >= lim.PerAddress {
			return "address"
		}
		if a.byAddr == nil {
			a.byAddr = make(map[netip.Prefix]int)
		}
		a.byAddr[p]++
	}
	a.total++
	return ""
}

// leave is called once for every connection admitted.
func (a *admission) leave(addr netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total--
	if p, counts := place(addr); counts {
		if a.byAddr[p]--; a.byAddr[p] <= 0 {
			delete(a.byAddr, p)
		}
	}
}
