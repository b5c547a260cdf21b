package relay

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// TestHas: what clients make of a relay's URL is its own name still, and
// nothing else is.
func TestHas(t *testing.T) {
	names, err := NewNames([]string{"wss://Relay.example", "wss://path.example/nostr", "wss://slash.example/a/b/",
		"wss://räksmörgås.example/n", "wss://xn--bcher-kva.example", "wss://asked.example/?room=1", "ws://[2001:db8::1]:7447"}, netip.MustParseAddrPort("0.0.0.0:7447"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ours := range []string{
		"wss://relay.example", "WSS://RELAY.example:443/", "wss://relay.example/?", "wss://relay.example?client=x", "wss://relay.example/?client=x&y=%2f",
		"wss://path.example/nostr", "wss://path.example/nostr/", "wss://path.example/nostr?x", "wss://path.example/nostr/?x=1",
		"wss://slash.example/a/b", "wss://slash.example/a/b/",
		"wss://räksmörgås.example/n", "wss://RÄKSMÖRGÅS.example/n/", "wss://xn--rksmrgs-5wao1o.example/n", "wss://ra\u0308ksmo\u0308rga\u030as.example/n",
		"wss://bücher.example", "wss://b%C3%BCcher.example/", "wss://xn--bcher-kva.example?q",
		"wss://asked.example?room=1", "wss://asked.example/?room=1",
		"ws://[2001:DB8:0::1]:7447/",
	} {
		if !names.Has(ours) {
			t.Errorf("%q is none of our names", ours)
		}
	}
	for _, other := range []string{
		"", "relay.example", "https://relay.example", "ws://relay.example", "wss://relay.example:444", "wss://relay.example//", "wss://relay.example/x",
		"wss://relay.example#x", "wss://u@relay.example", "wss://relay.example.evil.example", "wss://evil.example/?wss://relay.example", "wss://evil.example?relay.example",
		"wss://path.example", "wss://path.example/", "wss://path.example/nostr//", "wss://path.example//nostr", "wss://path.example/nostr/x", "wss://path.example/Nostr",
		"wss://path.example/nostr%2f", "wss://path.example/%6eostr", "wss://path.example/x/../nostr", "wss://slash.example/a",
		"wss://raksmorgas.example/n", "wss://xn--raksmorgas.example/n", "wss://bucher.example", "wss://xn--bcher-kva.example/x",
		"wss://asked.example", "wss://asked.example?room=2", "wss://asked.example?room=1&x", "wss://asked.example?Room=1",
		"ws://2001:db8::1:7447", "ws://[2001:db8::2]:7447",
	} {
		if names.Has(other) {
			t.Errorf("%q counts as our name", other)
		}
	}
}

// FuzzNames: no URL counts as the relay's that leads to another place.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{
		"wss://relay.example/nostr", "wss://relay.example/nostr/", "wss://Relay.example:443/nostr/?a=%2f", "https://relay.example/nostr/query/?base=x", "https://relay.example/nostr?base=",
		"wss://relay.example@evil.example/nostr", "wss://evil.example\\@relay.example/nostr", "wss://relay。example/nostr", "wss://ｒelay.example/nostr", "wss://xn--a.example/nostr",
		"wss://relay\u00ad.example/nostr", "wss://relay.example/nostr//", "wss://[::1]/nostr", "wss://relay.example/%6eostr", "://", "wss://\u05d0b.example",
	} {
		f.Add(seed)
	}
	names := Names{"wss://relay.example/nostr"}
	f.Fuzz(func(t *testing.T, raw string) {
		has := names.Has(raw)
		query, ours := names.Endpoint(raw, "/query")
		if !has && !ours {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.User != nil || u.Fragment != "" || u.Port() != "" && strings.TrimLeft(u.Port(), "0") != "443" {
			t.Fatalf("%q counts as ours", raw)
		}
		host, path := strings.ToLower(u.Hostname()), strings.TrimSuffix(u.EscapedPath(), "/")
		if ascii, err := hostNames.ToASCII(host); err != nil || ascii != "relay.example" {
			t.Fatalf("%q leads to %q", raw, host)
		}
		if has && (u.Scheme != "wss" || path != "/nostr") || ours && (u.Scheme != "https" || path != "/nostr/query" || query != u.RawQuery) {
			t.Fatalf("%q counts as ours with query %q", raw, query)
		}
	})
}
