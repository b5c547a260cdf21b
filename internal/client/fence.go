package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// ErrNearby means that a relay which only the agent's list names is on this machine
// or its network, and that no configured relay is at its address.
var ErrNearby = errors.New("only the agent's list names it, and it is at an address of this machine or its network where no configured relay is")

// Whoever writes an agent's list must not have its owner's machine call what only
// that machine reaches. The address is looked at when it is connected to, so that a
// name which stands for another one by then makes no difference.

// dialing is how one connection is made.
type dialing struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	proxy func(*http.Request) (*url.URL, error)
}

// dialingTo returns how a relay is connected to. It is for one connection to one that
// only a list names.
func (o *Options) dialingTo(t Target) dialing {
	plain := net.Dialer{Resolver: o.Resolver}
	if !t.Listed {
		return dialing{plain.DialContext, http.ProxyFromEnvironment}
	}
	fenced := plain
	fenced.ControlContext = func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return ErrNearby // whatever it is
		}
		return o.mayCall(ctx, at)
	}
	var proxied atomic.Bool
	return dialing{
		func(ctx context.Context, network, address string) (net.Conn, error) {
			if proxied.Load() { // the address is the proxy's
				return plain.DialContext(ctx, network, address)
			}
			return fenced.DialContext(ctx, network, address)
		},
		func(r *http.Request) (*url.URL, error) {
			via, err := http.ProxyFromEnvironment(r)
			if via == nil || err != nil {
				return via, err
			}
			proxied.Store(true)
			return via, o.mayAskFor(r.Context(), r.URL)
		},
	}
}

// mayAskFor is mayCall for what a proxy is asked for, as far as its name can be
// resolved here.
func (o *Options) mayAskFor(ctx context.Context, u *url.URL) error {
	port, addrs := portOf(u), o.resolved(ctx, u.Hostname())
	if len(addrs) == 0 && nearbyName(u.Hostname()) {
		return ErrNearby
	}
	for _, addr := range addrs {
		if err := o.mayCall(ctx, netip.AddrPortFrom(addr, port)); err != nil {
			return err
		}
	}
	return nil
}

// nearbyName reports whether a proxy may take a name that is unknown here for an
// address nearby: it has no dot, its last label begins as a number does (127.1,
// 0x7f.1 and 2130706433 are 127.0.0.1 to many programs), or it is the loopback's.
func nearbyName(host string) bool {
	host = strings.ToLower(strings.TrimRight(host, "."))
	dot := strings.LastIndexByte(host, '.')
	first, _ := utf8.DecodeRuneInString(host[dot+1:])
	return dot < 0 || unicode.IsNumber(first) || host[dot+1:] == "localhost"
}

// mayCall reports whether a relay that only a list names may be at an address.
func (o *Options) mayCall(ctx context.Context, at netip.AddrPort) error {
	if !nearby(at.Addr()) || o.Near != nil && o.Near(at) {
		return nil
	}
	for _, relay := range o.Relays {
		u, err := url.Parse(relay)
		if err == nil && portOf(u) == at.Port() && slices.Contains(o.resolved(ctx, u.Hostname()), bare(at.Addr())) {
			return nil
		}
	}
	return ErrNearby
}

// resolved returns the addresses of a host, none if they are not known.
func (o *Options) resolved(ctx context.Context, host string) []netip.Addr {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{bare(addr)}
	}
	resolver := o.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	all, _ := resolver.LookupNetIP(ctx, "ip", host) // an unknown name stands for nothing
	for i := range all {
		all[i] = bare(all[i])
	}
	return all
}

// portOf returns the port of a URL, 0 if it has none that can be.
func portOf(u *url.URL) uint16 {
	text := u.Port()
	if text == "" {
		text = "80"
		if scheme := strings.ToLower(u.Scheme); scheme == "wss" || scheme == "https" {
			text = "443"
		}
	}
	port, _ := strconv.ParseUint(text, 10, 16)
	return uint16(port)
}

// bare returns an address without its zone, an IPv4 one as such.
func bare(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// near are the blocks of addresses that are not the whole world's: RFC 6890 and its
// registries, with what is left of IPv4 and IPv6.
var near = func() (all []netip.Prefix) {
	for block := range strings.FieldsSeq(`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
		192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3
		::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`) {
		all = append(all, netip.MustParsePrefix(block))
	}
	return all
}()

// Addresses in which an IPv4 one stands: of NAT64, at the end, and of 6to4.
var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

// nearby reports whether an address is of this machine, of its network or of a block
// that is not the whole world's.
func nearby(a netip.Addr) bool {
	a = bare(a)
	if b := a.As16(); nat64.Contains(a) {
		a = netip.AddrFrom4([4]byte(b[12:]))
	} else if sixTo4.Contains(a) {
		a = netip.AddrFrom4([4]byte(b[2:6]))
	}
	return slices.ContainsFunc(near, func(p netip.Prefix) bool { return p.Contains(a) })
}
