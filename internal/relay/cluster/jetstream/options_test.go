package jetstream

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
)

func seedFile(t *testing.T) string {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "node.nk")
	if err := os.WriteFile(path, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Open refuses what is unsafe, and says what to do.
func TestOptions(t *testing.T) {
	seed := seedFile(t)
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		set  func(*Options)
		says string // "" for what is taken
	}{
		{"loopback", func(*Options) {}, ""},
		{"IPv6 and a name", func(o *Options) { o.URLs = []string{"nats://[::1]:4222", "nats://localhost:4222"} }, ""},
		{"away with all it needs", func(o *Options) { o.URLs, o.Credentials = []string{"tls://log.example:4222"}, seed }, ""},
		{"no URL", func(o *Options) { o.URLs = nil }, "no URL"},
		{"a password in it", func(o *Options) { o.URLs = []string{"nats://a:b@127.0.0.1:4222"} }, "credentials file"},
		{"another scheme", func(o *Options) { o.URLs = []string{"ws://127.0.0.1:4222"} }, "want nats://"},
		{"away without TLS", func(o *Options) { o.URLs, o.Credentials = []string{"nats://10.0.0.1:4222"}, seed }, "tls://"},
		{"away without credentials", func(o *Options) { o.URLs = []string{"tls://10.0.0.1:4222"} }, "credentials"},
		{"one of three away", func(o *Options) { o.URLs = []string{"nats://127.0.0.1:1", "nats://log.example:4222"} }, "tls://"},
		{"credentials that are none", func(o *Options) { o.Credentials = none }, "nkey seed"},
		{"credentials that are not there", func(o *Options) { o.SystemCredentials = none + "x" }, "credentials"},
		{"a certificate without its key", func(o *Options) { o.TLSCert = "x" }, "key"},
		{"a stream with a point", func(o *Options) { o.Stream = "a.b" }, "name"},
		{"two replicas", func(o *Options) { o.Replicas = 2 }, "2 replicas"},
		{"nobody says whether it syncs", func(o *Options) { o.TrustSync = false }, "cluster.monitor"},
		{"the system account does", func(o *Options) { o.TrustSync, o.SystemCredentials = false, seed }, ""},
		{"monitors do", func(o *Options) { o.TrustSync, o.Monitor = false, []string{"http://127.0.0.1:8222"} }, ""},
		{"a monitor that is away", func(o *Options) { o.Monitor = []string{"http://log.example:8222"} }, "https://"},
		{"a monitor that is away, with TLS", func(o *Options) { o.Monitor = []string{"https://log.example:8222"} }, ""},
		{"a monitor that is none", func(o *Options) { o.Monitor = []string{"127.0.0.1:8222"} }, "monitoring"},
	} {
		o := Options{URLs: []string{"nats://127.0.0.1:4222"}, TrustSync: true}
		tt.set(&o)
		o = o.withDefaults()
		err := o.check()
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.says != "" && (!errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v does not say %q", tt.name, err, tt.says)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, enough := range map[string]bool{
		"2.12.0": true, "2.15.2": true, "v2.12.1": true, "2.12.0-RC.1": true, "3.0.0": true,
		"2.11.9": false, "2.9.10": false, "1.99.0": false, "": false, "2": false, "x.y.z": false, "2.x": false,
	} {
		if atLeast(version, oldest) != enough {
			t.Errorf("version %q: %v", version, !enough)
		}
	}
}
