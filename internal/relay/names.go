package relay

import (
	"fmt"
	"net/netip"
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
