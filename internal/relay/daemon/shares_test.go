package daemon

import (
	"flag"
	"testing"

	"engramd/internal/relay/config"
)

// Loopback peers are exempt only at a relay that has loopback names only: with
// a public name and no trusted proxy, a loopback peer may be anybody.
func TestShareRulesOfAConfiguration(t *testing.T) {
	for _, tc := range []struct {
		name           string
		args           []string
		exempt, common bool
	}{
		{"defaults", nil, true, false},
		{"loopback name", []string{"--public-url", "ws://LOCALHOST:1,ws://127.0.0.2:7,ws://[::1]"}, true, false},
		{"public name", []string{"--public-url", "ws://localhost:1,wss://relay.example.com"}, false, true},
		{"behind a proxy", []string{"--public-url", "wss://relay.example.com", "--proxy-trusted", "127.0.0.1"}, false, false},
		{"switched off", []string{"--limits-loopback-exempt=false"}, false, false},
		{"switched off, public", []string{"--public-url", "wss://relay.example.com", "--limits-loopback-exempt=false"}, false, false},
	} {
		fs := flag.NewFlagSet("serve", flag.ContinueOnError)
		flags := config.Register(fs)
		if err := fs.Parse(tc.args); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		cfg, err := config.Load(config.Sources{Flags: flags})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if r := shareRules(cfg); r.Exempt != tc.exempt || r.Common != tc.common {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}
