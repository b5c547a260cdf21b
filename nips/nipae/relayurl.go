package nipae

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// ErrRelayURL is what every error of CanonicalRelayURL is.
var ErrRelayURL = errors.New("not a relay URL")

// CanonicalRelayURL returns the form in which two URLs of the same relay are
// equal text (NIP-AE, "Configured relays"; used for AUTH and NIP-62 too):
// scheme and host in lower case, an IP address in its shortest form, the
// default port and the slash of an otherwise empty path dropped. Path and
// query are kept as written. It is for comparing; connect to a URL as it was
// written.
//
// Only ws and wss URLs with a host are relay URLs; user names and fragments
// have no place in them (RFC 6455, section 3). The error is ErrRelayURL and
// does not repeat the URL.
func CanonicalRelayURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", fmt.Errorf("%w: it does not parse", ErrRelayURL)
	}
	scheme := strings.ToLower(u.Scheme)
	defaultPort := ""
	switch scheme {
	case "ws":
		defaultPort = "80"
	case "wss":
		defaultPort = "443"
	default:
		return "", fmt.Errorf("%w: the scheme must be ws or wss", ErrRelayURL)
	}
	host := canonicalHost(u.Hostname())
	switch {
	case host == "" || strings.ContainsFunc(host, notInHost) || strings.Contains(host, ":") && !bracketed(u.Host, host):
		return "", fmt.Errorf("%w: it names no host", ErrRelayURL)
	case u.User != nil:
		return "", fmt.Errorf("%w: it must not hold a user name", ErrRelayURL)
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return "", fmt.Errorf("%w: it must not hold a fragment", ErrRelayURL)
	}
	port := u.Port()
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return "", fmt.Errorf("%w: the port must be 1 to 65535", ErrRelayURL)
		}
		port = strconv.FormatUint(n, 10)
	}
	var b strings.Builder
	b.WriteString(scheme + "://")
	switch {
	case port != "" && port != defaultPort:
		b.WriteString(net.JoinHostPort(host, port))
	case strings.Contains(host, ":"):
		b.WriteString("[" + host + "]")
	default:
		b.WriteString(host)
	}
	if path := u.EscapedPath(); path != "/" {
		b.WriteString(path)
	}
	if u.RawQuery != "" {
		b.WriteString("?" + u.RawQuery)
	}
	return b.String(), nil
}

// notInHost reports whether r has no place in a host, which url.Parse decodes
// and does not look at: %20 in it would come out as a space. A zone is for the
// machine it is written on.
func notInHost(r rune) bool {
	return r <= ' ' || r == 0x7f || r == '\uFFFD' || strings.ContainsRune("\"#%/<>?@[\\]^`{|}", r)
}

// bracketed reports whether a host with colons is an IPv6 address in brackets,
// which url.Parse does not ask of it: "::" comes out as the host ":".
func bracketed(written, host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil && strings.HasPrefix(written, "[")
}

// canonicalHost lowers a host name, and writes an address its one way.
func canonicalHost(host string) string {
	host = strings.ToLower(host)
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return host
}

// ConfiguredRelays returns where a pair's memory is (NIP-AE, "Configured
// relays"): the entries of the agent's relay list (NIP-65) that are marked
// write or not marked; or, if there is no such list or it has no usable entry,
// those of given, the list agreed on otherwise, and listed is false.
//
// candidates are what relays returned for kind 10002 by the agent, in any
// order; the newest that the agent did sign counts. Only valid ws and wss URLs
// are returned, each relay once (see CanonicalRelayURL), in order, and as they
// were written, because that is how to connect to them.
func ConfiguredRelays(agent string, candidates []*nostr.Event, given []string) (relays []string, listed bool) {
	for _, ev := range distinct(candidates) {
		if ev.Kind != nostr.KindRelayListMetadata || ev.PubKey != agent || verify(ev) != nil {
			continue
		}
		if relays := DistinctRelays(writeEntries(ev)); len(relays) > 0 {
			return relays, true
		}
		break
	}
	return DistinctRelays(given), false
}

// writeEntries returns the URLs of a relay list that are for writing too.
func writeEntries(ev *nostr.Event) (urls []string) {
	for tag := range ev.Tags.FindAll("r") {
		if marker := tag[2:]; len(marker) == 0 || marker[0] == "" || marker[0] == "write" {
			urls = append(urls, tag[1])
		}
	}
	return urls
}

// DistinctRelays returns the URLs that are valid, each relay once, the first
// way it was written, in order.
func DistinctRelays(urls []string) (relays []string) {
	seen := make(map[string]bool, len(urls))
	for _, url := range urls {
		canonical, err := CanonicalRelayURL(url)
		if err != nil || seen[canonical] {
			continue
		}
		seen[canonical] = true
		relays = append(relays, url)
	}
	return relays
}
