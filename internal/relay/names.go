package relay

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"engramd/nips/nipae"
)

// Names are the websocket URLs that are this relay's own, in canonical form.
// An AUTH or a request to vanish is for us only if it names one of them; what
// a client says in Host or X-Forwarded-* never counts.
type Names []string

// NewNames canonicalises the configured public URLs (ws, wss, http or https)
// and, when the relay listens on a loopback address only, adds that address
// under the names people use for it.
func NewNames(publicURLs []string, listening netip.AddrPort) (Names, error) {
	var names Names
	add := func(raw string) error {
		name, err := nipae.CanonicalRelayURL(httpToWS(raw))
		if err != nil {
			return fmt.Errorf("public URL %q: %w", raw, err)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return nil
	}
	for _, raw := range publicURLs {
		if err := add(raw); err != nil {
			return nil, err
		}
	}
	if listening.Addr().IsLoopback() {
		port := strconv.Itoa(int(listening.Port()))
		hosts := []string{"127.0.0.1", "localhost", "[::1]"}
		if own := listening.Addr().String(); listening.Addr().Is4() {
			hosts = append(hosts, own)
		}
		for _, host := range hosts {
			if err := add("ws://" + host + ":" + port); err != nil {
				return nil, err
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("a relay that listens on %s needs a public URL", listening)
	}
	return names, nil
}

// Has reports whether raw is one of our names: clients write the same place
// with and without a slash at its end (NDK adds it to every path), with a query
// of their own, and a host beyond ASCII in letters or in punycode. A query
// counts only where the name has one.
func (n Names) Has(raw string) bool {
	place, query, err := placeOf(raw)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(n, func(name string) bool {
		own, ownQuery, err := placeOf(name)
		return err == nil && own == place && (ownQuery == "" || ownQuery == query)
	})
}

func httpToWS(raw string) string {
	if len(raw) >= 4 && strings.EqualFold(raw[:4], "http") {
		return "ws" + raw[4:]
	}
	return raw
}

// Endpoint reports whether raw is the http or https URL of an endpoint ("/query")
// of this relay: one of its names, ws as http and wss as https, with the
// endpoint behind it. They are compared as Has does, and loopback hosts are all
// the same one. The query string of raw is returned as it is written.
func (n Names) Endpoint(raw, endpoint string) (query string, ours bool) {
	if len(raw) < 4 || !strings.EqualFold(raw[:4], "http") {
		return "", false
	}
	asked, query, err := placeOf(httpToWS(raw))
	if err != nil {
		return "", false
	}
	base, found := strings.CutSuffix(asked.path, endpoint)
	if !found {
		return "", false
	}
	asked.path = base
	for _, name := range n {
		if own, _, err := placeOf(name); err == nil && own.anyLoopback() == asked.anyLoopback() {
			return query, true
		}
	}
	return "", false
}

// HTTP returns the relay's first name as the URL that endpoints are below.
func (n Names) HTTP() string {
	first, _, _ := strings.Cut(wsToHTTP(n[0]), "?")
	return strings.TrimSuffix(first, "/")
}

// place is where a relay's URL leads to, in the form in which two URLs of one
// place are equal.
type place struct{ scheme, host, port, path string }

// hostNames writes host names as browsers do before they ask for them.
var hostNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))

// placeOf reads a ws or wss URL; its query is returned as it is written.
func placeOf(raw string) (p place, query string, err error) {
	canonical, err := nipae.CanonicalRelayURL(raw)
	if err != nil {
		return place{}, "", err
	}
	canonical, query, _ = strings.Cut(canonical, "?")
	u, err := url.Parse(canonical)
	if err != nil {
		return place{}, "", fmt.Errorf("%w: it does not parse", nipae.ErrRelayURL)
	}
	host := u.Hostname()
	if ascii, err := hostNames.ToASCII(host); err == nil && ascii != "" {
		host = ascii
	}
	return place{u.Scheme, host, u.Port(), strings.TrimSuffix(u.EscapedPath(), "/")}, query, nil
}

func (p place) anyLoopback() place {
	if Loopback(p.host) {
		p.host = "localhost"
	}
	return p
}

// Loopback reports whether a host, an address or a name in lower case, is this
// machine alone.
func Loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

func wsToHTTP(name string) string { return "http" + strings.TrimPrefix(name, "ws") }
