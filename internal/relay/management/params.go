package management

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/secrets"
)

// args are the parameters of a call that were understood.
type args struct {
	key    string // hex of a pubkey or an event id, a kind's number, a network
	text   string // reason, name, …
	at     *SnapshotParams
	recall []any // all of them, as the audit table keeps them
}

// param reads one parameter into args.
type param func(a *args, raw jsontext.Value) error

// Longest texts, in bytes.
const (
	maxReason      = 1000
	maxName        = 200
	maxDescription = 4000
	maxIcon        = 2000
)

// hexParam takes 32 bytes in hex.
func hexParam(what string) param {
	return func(a *args, raw jsontext.Value) error {
		s, err := textOf(raw)
		if err != nil {
			return err
		}
		if strings.HasPrefix(s, "nsec1") {
			return Invalid("this is a secret key (nsec): treat it as known to others")
		}
		if !nostr.IsValid32ByteHex(s) {
			return Invalid("want " + what + " as 64 lower-case hex digits")
		}
		a.key = s
		a.recall = append(a.recall, s)
		return nil
	}
}

func kindParam(a *args, raw jsontext.Value) error {
	var kind uint16
	if raw.Kind() != '0' || json.Unmarshal(raw, &kind) != nil {
		return Invalid("want a kind: a whole number from 0 to 65535, without quotes")
	}
	a.key = strconv.Itoa(int(kind))
	a.recall = append(a.recall, kind)
	return nil
}

// networkParam takes an address, or a range in CIDR notation: with IPv6 one
// customer has a whole /64.
func networkParam(a *args, raw jsontext.Value) error {
	s, err := textOf(raw)
	if err != nil {
		return err
	}
	network, err := parseNetwork(s)
	if err != nil {
		return Invalid("want an IP address, or a range such as 192.0.2.0/24 or 2001:db8::/64")
	}
	a.key = network.String()
	a.recall = append(a.recall, a.key)
	return nil
}

func parseNetwork(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		if p.Addr().Is4In6() {
			return netip.Prefix{}, strconv.ErrSyntax
		}
		return p.Masked(), nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, strconv.ErrSyntax
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// textParam takes a text of at most so many bytes. lines allows line breaks.
func textParam(most int, lines bool) param {
	return func(a *args, raw jsontext.Value) error {
		s, err := textOf(raw)
		if err != nil {
			return err
		}
		if err := checkText(s, most, lines); err != nil {
			return err
		}
		a.text = s
		a.recall = append(a.recall, s)
		return nil
	}
}

// reasonParam takes a reason, or null for none.
func reasonParam(a *args, raw jsontext.Value) error {
	if raw.Kind() == 'n' {
		return nil
	}
	return textParam(maxReason, true)(a, raw)
}

func iconParam(a *args, raw jsontext.Value) error {
	if err := textParam(maxIcon, false)(a, raw); err != nil {
		return err
	}
	if low := strings.ToLower(a.text); low != "" && !strings.HasPrefix(low, "https://") && !strings.HasPrefix(low, "http://") {
		return Invalid("an icon is an http or https URL, or empty")
	}
	return nil
}

func textOf(raw jsontext.Value) (string, error) {
	var s string
	if raw.Kind() != '"' || json.Unmarshal(raw, &s) != nil {
		return "", Invalid("want a text in quotes")
	}
	return s, nil
}

// checkText refuses characters that people and terminals should not be shown,
// and secrets: these texts are kept for good, and some are public.
func checkText(s string, most int, lines bool) error {
	if len(s) > most {
		return Invalid(fmt.Sprintf("at most %d bytes are taken here", most))
	}
	for _, r := range s {
		if (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) && !(lines && r == '\n') {
			return Invalid("control characters are not taken here")
		}
	}
	if found := secrets.Find(s); len(found) > 0 {
		return Invalid("this text seems to hold a secret (" + found[0].Kind + "): treat it as known to others")
	}
	return nil
}
