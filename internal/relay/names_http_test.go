package relay

import (
	"net/netip"
	"testing"
)

func TestEndpoint(t *testing.T) {
	public, err := NewNames([]string{"wss://Relay.example", "ws://plain.example:8080/nostr/", "wss://b\u00fccher.example"}, netip.MustParseAddrPort("0.0.0.0:7447"))
	if err != nil {
		t.Fatal(err)
	}
	local, err := NewNames(nil, netip.MustParseAddrPort("127.0.0.1:7447"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		names      Names
		url, query string
		ours       bool
	}{
		{public, "https://relay.example/query", "", true},
		{public, "HTTPS://RELAY.example:443/query/", "", true},
		{public, "https://relay.example/query?", "", true},
		{public, "https://relay.example/query?a=%2f&B=1", "a=%2f&B=1", true},
		{public, "http://plain.example:8080/nostr/query", "", true},
		{public, "http://plain.example:8080/nostr/query/?base=%41", "base=%41", true},
		{public, "https://relay.example/query/?base=", "base=", true},
		{public, "https://relay.example/query?base=a/", "base=a/", true},
		{public, "https://xn--bcher-kva.example/query", "", true},
		{public, "https://B\u00fccher.example/query/", "", true},
		{public, "https://bucher.example/query", "", false},
		{public, "http://relay.example/query", "", false},
		{public, "https://relay.example:80/query", "", false},
		{public, "wss://relay.example/query", "", false},
		{public, "https://relay.example/Query", "", false},
		{public, "https://relay.example/count", "", false},
		{public, "https://relay.example//query", "", false},
		{public, "https://relay.example/nostr/query", "", false},
		{public, "https://relay.example/query/query", "", false},
		{public, "https://relay.example/query//", "", false},
		{public, "https://relay.example/%71uery", "", false},
		{public, "https://relay.example/x/../query", "", false},
		{public, "https://relay.example.evil.example/query", "", false},
		{public, "https://relay.example@evil.example/query", "", false},
		{public, "https://evil.example/?https://relay.example/query", "", false},
		{public, "https://relay.example/query#x", "", false},
		{public, "http://plain.example:8080/query", "", false},
		{public, "http://plain.example/nostr/query", "", false},
		{public, "http://127.0.0.1:7447/query", "", false},
		{public, "/query", "", false},
		{public, "query", "", false},
		{public, "", "", false},
		{local, "http://127.0.0.1:7447/query", "", true},
		{local, "http://LocalHost:7447/query", "", true},
		{local, "http://[::1]:7447/query", "", true},
		{local, "http://[0:0:0:0:0:0:0:1]:7447/query", "", true},
		{local, "http://127.8.9.10:7447/query", "", true},
		{local, "http://[::ffff:127.0.0.1]:7447/query", "", true},
		{local, "https://127.0.0.1:7447/query", "", false},
		{local, "http://127.0.0.1/query", "", false},
		{local, "http://128.0.0.1:7447/query", "", false},
		{local, "http://localhost.evil.example:7447/query", "", false},
	} {
		if query, ours := tt.names.Endpoint(tt.url, "/query"); query != tt.query || ours != tt.ours {
			t.Errorf("%s: %q, %v; want %q, %v", tt.url, query, ours, tt.query, tt.ours)
		}
	}
	if got := public.HTTP(); got != "https://relay.example" {
		t.Errorf("HTTP() = %q", got)
	}
	if got := public[1:].HTTP(); got != "http://plain.example:8080/nostr" {
		t.Errorf("HTTP() = %q", got)
	}
}
