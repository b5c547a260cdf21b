package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr/nip19"
)

var hexKey = regexp.MustCompile(`^[0-9a-f]{64}$`)

// pubkey takes 64 hex digits or an npub (NIP-19) and keeps lower-case hex.
func pubkey(optional bool) elem[string] {
	e := text(nil)
	e.one, e.many = "pubkey (hex or npub)", "pubkeys (hex or npub)"
	e.toml = wantString("a pubkey")
	e.parse = func(s string) (string, error) {
		low := strings.ToLower(s)
		switch {
		case s == "" && optional:
			return "", nil
		case strings.HasPrefix(low, "nsec"):
			return "", errors.New("this is a secret key (nsec): give the npub, and treat that key as known to others")
		case strings.HasPrefix(low, "npub1"):
			_, key, err := nip19.Decode(s)
			if err != nil {
				return "", fmt.Errorf("%q is not a valid npub: %w", s, err)
			}
			return key.(string), nil // an npub always decodes to hex
		}
		if hexKey.MatchString(low) {
			return low, nil
		}
		return "", fmt.Errorf("%q is neither 64 hex digits nor an npub", s)
	}
	return e
}

// network takes an address or a CIDR range.
func network() elem[netip.Prefix] {
	return elem[netip.Prefix]{one: "address or CIDR range", many: "addresses or CIDR ranges",
		format: func(p netip.Prefix) string { return quoted(p.String()) },
		toml:   wantString("an address or range"),
		parse: func(s string) (netip.Prefix, error) {
			if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
				a = a.Unmap()
				return netip.PrefixFrom(a, a.BitLen()), nil
			}
			p, err := netip.ParsePrefix(s)
			if err != nil {
				return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a range such as 10.0.0.0/8", s)
			}
			return p.Masked(), nil
		}}
}

// listenAddr checks HOST:PORT; empty is allowed where it turns a listener off.
func listenAddr(optional bool) elem[string] {
	e := text(func(s string) error {
		if s == "" && optional {
			return nil
		}
		_, port, err := net.SplitHostPort(s)
		if err != nil {
			return fmt.Errorf("%q is not HOST:PORT", s)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
			return fmt.Errorf("%q has no port number from 0 to 65535", s)
		}
		return nil
	})
	e.one = "HOST:PORT"
	return e
}

// relayURL takes a websocket URL by which clients know this relay.
func relayURL() elem[string] {
	e := text(func(s string) error {
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Host == "" || u.Hostname() == "":
			return fmt.Errorf("%q is not a URL such as wss://relay.example.com", s)
		case u.Scheme == "http" || u.Scheme == "https":
			return fmt.Errorf("%q: give the websocket URL, ws%s", s, strings.TrimPrefix(s, "http"))
		case u.Scheme != "ws" && u.Scheme != "wss":
			return fmt.Errorf("%q: the scheme must be ws or wss", s)
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			return fmt.Errorf("%q: no user, query or fragment", s)
		}
		return nil
	})
	e.one, e.many = "ws:// or wss:// URL", "ws:// or wss:// URLs"
	return e
}

// httpHeader takes the name of a request header.
func httpHeader() elem[string] {
	return text(func(s string) error {
		if s == "" {
			return errEmpty
		}
		for _, r := range s {
			if r <= ' ' || r > '~' || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) {
				return fmt.Errorf("%q is not a header name", s)
			}
		}
		return nil
	})
}
