package nipae

import (
	"errors"
	"testing"
)

func TestCanonicalRelayURL(t *testing.T) {
	tests := []struct{ in, want string }{
		{"wss://relay.example.com", "wss://relay.example.com"},
		{"WSS://Relay.Example.COM/", "wss://relay.example.com"},
		{"wss://relay.example.com:443/", "wss://relay.example.com"},
		{"ws://relay.example.com:80", "ws://relay.example.com"},
		{"ws://relay.example.com:443", "ws://relay.example.com:443"},
		{"wss://relay.example.com:80", "wss://relay.example.com:80"},
		{"wss://relay.example.com:00443", "wss://relay.example.com"},
		{"wss://relay.example.com:", "wss://relay.example.com"},
		{"wss://relay.example.com/Path", "wss://relay.example.com/Path"},
		{"wss://relay.example.com/path/", "wss://relay.example.com/path/"},
		{"wss://relay.example.com/a%2Fb", "wss://relay.example.com/a%2Fb"},
		{"wss://relay.example.com/?X=1", "wss://relay.example.com?X=1"},
		{"wss://relay.example.com?X=1", "wss://relay.example.com?X=1"},
		{"ws://127.0.0.1:7447", "ws://127.0.0.1:7447"},
		{"ws://[::1]:7447/", "ws://[::1]:7447"},
		{"ws://[0:0:0:0:0:0:0:1]:80", "ws://[::1]"},
		{"wss://[2001:DB8::1]", "wss://[2001:db8::1]"},
	}
	for _, tt := range tests {
		got, err := CanonicalRelayURL(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.in, got, err, tt.want)
		}
		if again, err := CanonicalRelayURL(got); err != nil || again != got {
			t.Errorf("%s: not stable: %q, %v", got, again, err)
		}
	}
}

func TestCanonicalRelayURLRefuses(t *testing.T) {
	for _, in := range []string{
		"", "relay.example.com", "https://relay.example.com", "http://relay.example.com", "wss:relay.example.com",
		"wss://", "wss:///path", "wss://:443", "wss://user@relay.example.com", "wss://user:pw@relay.example.com",
		"wss://relay.example.com#x", "wss://relay.example.com/#", "wss://relay.example.com:0", "wss://relay.example.com:65536",
		"wss://relay.example.com:x", " wss://relay.example.com", "wss://relay example.com", "wss://relay.example.com\n", "//relay.example.com", "ALL_RELAYS",
		"ws://[fe80::1%25eth0]", "wss://a%20b", "wss://a%2Fb", "wss://a%00",
		"ws://::", "ws://::1", "ws://fe80::1:80", "ws://a:b:80", "ws://[a:b]",
	} {
		if got, err := CanonicalRelayURL(in); !errors.Is(err, ErrRelayURL) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func FuzzCanonicalRelayURL(f *testing.F) {
	for _, s := range []string{"wss://A.b:443/", "ws://[::1%25eth0]:1/x?y", "wss://a/%2f", "ws://a?", "wss://a//", "ws://::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		once, err := CanonicalRelayURL(in)
		if err != nil {
			return
		}
		twice, err := CanonicalRelayURL(once)
		if err != nil || twice != once {
			t.Fatalf("%q is %q, and that is %q, %v", in, once, twice, err)
		}
	})
}
