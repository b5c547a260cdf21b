package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nkeys"
)

// Settings are what a test may set otherwise in a server's file.
type Settings struct {
	Sync       string // sync_interval; "" leaves it out, which is two minutes
	MaxPayload int
	Data       string        // where it stores; "" is a folder of the rig's
	Clock      time.Duration // by how much its clock is wrong
	TLS        bool          // for clients and for the monitoring port, with a certificate of the rig's
}

// usual is what a log needs.
var usual = Settings{Sync: "always", MaxPayload: 4 << 20}

// nowhere is the address that servers tell others to find them at: nobody listens
// there, so that routes are made through the proxies only.
const nowhere = "127.0.0.1:1"

// write writes the file of a server that has routes to the others.
func (s *server) write(routes []string, users users, cert certificate) error {
	http, sync := "http", ""
	if s.settings.TLS {
		http = fmt.Sprintf("tls { cert_file: %q, key_file: %q }\nhttps", cert.file, cert.key)
	}
	if s.settings.Sync != "" {
		sync = "sync_interval: " + s.settings.Sync
	}
	var to strings.Builder
	for _, route := range routes {
		fmt.Fprintf(&to, "    nats-route://%s\n", route)
	}
	text := fmt.Sprintf(`server_name: %s
listen: "127.0.0.1:-1"
%s: "127.0.0.1:-1"
max_payload: %d
log_file: %q
jetstream {
  store_dir: %q
  max_mem: 67108864
  max_file: 4294967296
  %s
}
cluster {
  name: log
  listen: "127.0.0.1:-1"
  no_advertise: true
  advertise: %q
  routes: [
%s  ]
}
accounts {
  ENGRAM { jetstream: enabled, users: [ { nkey: %s } ] }
  SYS { users: [ { nkey: %s } ] }
}
system_account: SYS
`, s.name, http, s.settings.MaxPayload, filepath.Join(s.dir, "log"), s.data(), sync, nowhere, to.String(), users.node, users.system)
	return os.WriteFile(s.config(), []byte(text), 0o600)
}

// users are the public keys of the two users, of whom the seeds lie in files.
type users struct {
	node, system         string
	nodeFile, systemFile string
}

func newUsers(dir string) (u users, err error) {
	if u.node, u.nodeFile, err = newUser(dir, "node.nk"); err != nil {
		return u, err
	}
	u.system, u.systemFile, err = newUser(dir, "system.nk")
	return u, err
}

func newUser(dir, name string) (public, path string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", "", fmt.Errorf("new user: %w", err)
	}
	seed, err := pair.Seed()
	if err != nil {
		return "", "", fmt.Errorf("new user: %w", err)
	}
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, seed, 0o600); err != nil {
		return "", "", fmt.Errorf("new user: %w", err)
	}
	public, err = pair.PublicKey()
	return public, path, err
}
