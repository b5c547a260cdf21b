package relay

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/storetest"
)

const challenge = "0123456789abcdef0123456789abcdef"

func mustRelay(t *testing.T, listening string, urls ...string) *Relay {
	t.Helper()
	names, err := NewNames(urls, netip.MustParseAddrPort(listening))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Names: names, Clock: storetest.NewClock().Now}, storetest.MustTable(t, gate.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAuthenticate(t *testing.T) {
	r := mustRelay(t, "127.0.0.1:7447", "wss://relay.example")
	key := storetest.NewKey("agent")
	relayTag := nostr.Tag{"relay", "wss://relay.example"}
	challengeTag := nostr.Tag{"challenge", challenge}
	good := func() *nostr.Event { return key.Sign(22242, 0, "", relayTag, challengeTag) }
	tests := []struct {
		name string
		ev   func() *nostr.Event
		want string // part of the error; "" means accepted
	}{
		{"good", good, ""},
		{"trailing slash and upper case host", func() *nostr.Event {
			return key.Sign(22242, 0, "", nostr.Tag{"relay", "wss://Relay.Example:443/"}, challengeTag)
		}, ""},
		{"a query of the client's", func() *nostr.Event {
			return key.Sign(22242, 0, "", nostr.Tag{"relay", "wss://relay.example/?client=x"}, challengeTag)
		}, ""},
		{"loopback under its usual name", func() *nostr.Event {
			return key.Sign(22242, 0, "", nostr.Tag{"relay", "ws://localhost:7447"}, challengeTag)
		}, ""},
		{"ten minutes early", func() *nostr.Event { return key.Sign(22242, -600, "", relayTag, challengeTag) }, ""},
		{"too early", func() *nostr.Event { return key.Sign(22242, -601, "", relayTag, challengeTag) }, "clock"},
		{"too late", func() *nostr.Event { return key.Sign(22242, 601, "", relayTag, challengeTag) }, "clock"},
		{"farthest future", func() *nostr.Event {
			return key.Sign(22242, 1<<60, "", relayTag, challengeTag)
		}, "clock"},
		{"another kind", func() *nostr.Event { return key.Sign(1, 0, "", relayTag, challengeTag) }, "kind"},
		{"another challenge", func() *nostr.Event {
			return key.Sign(22242, 0, "", relayTag, nostr.Tag{"challenge", "x"})
		}, "challenge"},
		{"no challenge", func() *nostr.Event { return key.Sign(22242, 0, "", relayTag) }, "challenge"},
		{"two challenges", func() *nostr.Event {
			return key.Sign(22242, 0, "", relayTag, challengeTag, nostr.Tag{"challenge", "x"})
		}, "challenge"},
		{"another relay", func() *nostr.Event {
			return key.Sign(22242, 0, "", nostr.Tag{"relay", "wss://evil.example"}, challengeTag)
		}, "another relay"},
		{"another relay beside ours", func() *nostr.Event {
			return key.Sign(22242, 0, "", nostr.Tag{"relay", "wss://evil.example"}, relayTag, challengeTag)
		}, "exactly one relay"},
		{"http name", func() *nostr.Event {
			return key.Sign(22242, 0, "", nostr.Tag{"relay", "https://relay.example"}, challengeTag)
		}, "another relay"},
		{"no relay", func() *nostr.Event { return key.Sign(22242, 0, "", challengeTag) }, "relay"},
		{"bare relay tag", func() *nostr.Event {
			return key.Sign(22242, 0, "", nostr.Tag{"relay"}, challengeTag)
		}, "relay"},
		{"forged signature", func() *nostr.Event {
			ev := good()
			ev.Sig = strings.Repeat("0", 128)
			return ev
		}, "signature"},
		{"overlong pubkey", func() *nostr.Event {
			ev := good()
			ev.PubKey += strings.Repeat("a", 64)
			return ev
		}, "auth event"},
		{"wrong id", func() *nostr.Event {
			ev := good()
			ev.ID = strings.Repeat("0", 64)
			return ev
		}, "id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pubkey, err := r.Authenticate(tt.ev(), challenge)
			if tt.want == "" {
				if err != nil || pubkey != key.Pub {
					t.Fatalf("got %q, %v", pubkey, err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), "invalid: ") || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("want an error about %q, got %v", tt.want, err)
			}
			if pubkey != "" {
				t.Fatal("a refused AUTH proved a key")
			}
		})
	}
}

// Without a service URL khatru takes its own name from the client's headers,
// so that an AUTH signed for another relay is accepted.
func TestKhatruFault_OwnNameFromClientHeaders(t *testing.T) {
	if _, err := NewNames(nil, netip.MustParseAddrPort("0.0.0.0:7447")); err == nil {
		t.Fatal("a relay on a public address started without a name of its own")
	}
	names, err := NewNames([]string{"https://relay.example/nostr"}, netip.MustParseAddrPort("0.0.0.0:7447"))
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]bool{
		"wss://relay.example/nostr": true,
		"wss://relay.example":       false,
		"ws://127.0.0.1:7447":       false, // it listens publicly: loopback is no name of it
		"ws://relay.example/nostr":  false,
		"not a url":                 false,
		"":                          false,
	} {
		if got := names.Has(raw); got != want {
			t.Errorf("Has(%q) = %v, want %v", raw, got, want)
		}
	}
	if off := time.Duration(0); mustRelay(t, "127.0.0.1:1").cfg.AuthWindow <= off {
		t.Error("no default AUTH window")
	}
}
