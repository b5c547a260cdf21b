package relay

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

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

// Has reports whether raw is one of our names after canonicalisation.
func (n Names) Has(raw string) bool {
	name, err := nipae.CanonicalRelayURL(raw)
	return err == nil && slices.Contains(n, name)
}

func httpToWS(raw string) string {
	if len(raw) >= 4 && strings.EqualFold(raw[:4], "http") {
		return "ws" + raw[4:]
	}
	return raw
}

// Endpoint reports whether raw is the http or https URL of an endpoint ("/query")
// of this relay: one of its names, ws as http and wss as https, with the
// endpoint behind it. Scheme and host are compared in lower case, without the
// default port and a trailing slash of the path; loopback hosts are all the
// same one. The query string of raw is returned as it is written.
func (n Names) Endpoint(raw, endpoint string) (query string, ours bool) {
	place, query, err := placeOf(raw)
	if err != nil {
		return "", false
	}
	base, found := strings.CutSuffix(place, endpoint)
	if !found {
		return "", false
	}
	for _, name := range n {
		if own, _, err := placeOf(wsToHTTP(name)); err == nil && own == base {
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

var errNotHTTP = errors.New("not an http or https URL")

// placeOf brings an http or https URL to the form in which two URLs of the same
// place are equal text, but for its query, which is returned apart.
func placeOf(raw string) (place, query string, err error) {
	if len(raw) < 4 || !strings.EqualFold(raw[:4], "http") {
		return "", "", errNotHTTP
	}
	canonical, err := nipae.CanonicalRelayURL(httpToWS(raw))
	if err != nil {
		return "", "", errNotHTTP
	}
	canonical, query, _ = strings.Cut(canonical, "?")
	u, err := url.Parse(canonical)
	if err != nil {
		return "", "", errNotHTTP
	}
	host := u.Hostname()
	if Loopback(host) {
		host = "localhost"
	}
	return u.Scheme + "://" + net.JoinHostPort(host, u.Port()) + strings.TrimSuffix(u.EscapedPath(), "/"), query, nil
}

// Loopback reports whether a host, an address or a name in lower case, is this
// machine alone.
func Loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

func wsToHTTP(name string) string { return "http" + strings.TrimPrefix(name, "ws") }
