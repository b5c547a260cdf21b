package relayhttp

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

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
