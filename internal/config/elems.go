package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// quoted writes a TOML basic string; strconv's escapes are TOML's except for
// control characters, which TOML wants as \u.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func wantString(what string) func(any) (string, error) {
	return func(v any) (string, error) {
		s, ok := v.(string)
		if !ok {
			return "", fmt.Errorf("want %s in quotes, have %s", what, tomlType(v))
		}
		return s, nil
	}
}

// text takes any string that check (nil: none) accepts.
func text(check func(string) error) elem[string] {
	return elem[string]{one: "text", many: "texts", format: quoted, toml: wantString("text"),
		parse: func(s string) (string, error) {
			if check == nil {
				return s, nil
			}
			return s, check(s)
		}}
}

// choice takes one of the words.
func choice(words ...string) elem[string] {
	e := text(func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("%q is not one of %s", s, strings.Join(words, ", "))
		}
		return nil
	})
	e.one = strings.Join(words, " or ")
	return e
}

func boolean() elem[bool] {
	return elem[bool]{one: "true or false", format: strconv.FormatBool,
		parse: func(s string) (bool, error) {
			v, err := strconv.ParseBool(s)
			if err != nil {
				return false, fmt.Errorf("%q is neither true nor false", s)
			}
			return v, nil
		},
		toml: func(v any) (string, error) {
			b, ok := v.(bool)
			if !ok {
				return "", fmt.Errorf("want true or false without quotes, have %s", tomlType(v))
			}
			return strconv.FormatBool(b), nil
		}}
}

// whole takes an integer of at least low and at most high.
func whole[T int | int64](low, high T) elem[T] {
	return elem[T]{one: "whole number", many: "whole numbers",
		format: func(v T) string { return strconv.FormatInt(int64(v), 10) },
		parse: func(s string) (T, error) {
			v, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%q is not a whole number", s)
			}
			return T(v), between(v, int64(low), int64(high))
		},
		toml: wantInteger,
	}
}

func wantInteger(v any) (string, error) {
	n, ok := v.(int64)
	if !ok {
		return "", fmt.Errorf("want a whole number without quotes, have %s", tomlType(v))
	}
	return strconv.FormatInt(n, 10), nil
}

func between(v, low, high int64) error {
	switch {
	case v < low:
		return fmt.Errorf("%d is too small: at least %d", v, low)
	case v > high:
		return fmt.Errorf("%d is too large: at most %d", v, high)
	}
	return nil
}

// size takes bytes as a number or as text with a unit (KiB, MiB, GiB, TiB).
func size[T int | int64](low, high T) elem[T] {
	e := whole(low, high)
	e.one = `bytes: a number, or text such as "64MiB"`
	plain := e.parse
	e.parse = func(s string) (T, error) {
		number, factor := s, int64(1)
		for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
			if head, ok := strings.CutSuffix(s, unit); ok {
				number, factor = strings.TrimSpace(head), 1<<(10*(i+1))
			}
		}
		if factor == 1 {
			return plain(s)
		}
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil || v < 0 || v > math.MaxInt64/factor {
			return 0, fmt.Errorf("%q is not a size: want bytes, or a number with KiB, MiB, GiB or TiB", s)
		}
		return T(v * factor), between(v*factor, int64(low), int64(high))
	}
	e.toml = func(v any) (string, error) {
		if s, ok := v.(string); ok {
			return s, nil
		}
		return wantInteger(v)
	}
	return e
}

// rate takes a number per second, fractions allowed.
func rate() elem[float64] {
	return elem[float64]{one: "number per second",
		format: func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) },
		parse: func(s string) (float64, error) {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
				return 0, fmt.Errorf("%q is not a number of 0 or more", s)
			}
			return v, nil
		},
		toml: func(v any) (string, error) {
			switch n := v.(type) {
			case int64:
				return strconv.FormatInt(n, 10), nil
			case float64:
				return strconv.FormatFloat(n, 'f', -1, 64), nil
			}
			return "", fmt.Errorf("want a number without quotes, have %s", tomlType(v))
		}}
}

// duration takes Go's notation: "500ms", "10s", "15m", "1h30m".
func duration(low, high time.Duration) elem[time.Duration] {
	return elem[time.Duration]{one: "duration",
		format: func(d time.Duration) string { return quoted(shortDuration(d)) },
		parse: func(s string) (time.Duration, error) {
			d, err := time.ParseDuration(s)
			if err != nil {
				return 0, fmt.Errorf("%q is not a duration such as 500ms, 10s or 15m", s)
			}
			if d < low || d > high {
				return 0, fmt.Errorf("%s is not between %s and %s", s, shortDuration(low), shortDuration(high))
			}
			return d, nil
		},
		toml: wantString(`a duration such as "10s"`)}
}

// shortDuration drops the zero parts that Duration.String keeps: 15m, not 15m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

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
			key, err := decodeNpub(s)
			if err != nil {
				return "", fmt.Errorf("%q is not a valid npub: %w", s, err)
			}
			return key, nil
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
