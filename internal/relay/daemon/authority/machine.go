package authority

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nkeys"

	"engramd/internal/platform/files"
	"engramd/internal/relay/keys/keyfile"
)

// Files of a machine's folder.
const (
	KeyFile    = "authority.key" // on the one that lets others in
	TokensFile = "tokens.json"   // beside it
	CAFile     = "ca.pem"
	CertFile   = "node.pem"
	CertKey    = "node.key"
	LoginFile  = "log.nk"
	SystemFile = "system.nk"
	NATSFile   = "nats.conf"
	ConfigFile = "engramd.toml"
)

// Ports of a machine.
const (
	natsPort   = "4222"
	routesPort = "6222"
	DoorPort   = "7448"
)

// Machine is one of a cluster: a node, and a server of the log if it is among the
// hosts.
type Machine struct {
	Parcel
	Dir     string // its folder, where nothing is yet
	Data    string // of engramd
	Host    string
	Key     string // of its certificate, as PEM
	Options string // of engramd, beside those below
}

// NewLogin makes a user of the log's servers and returns its seed.
func NewLogin() (string, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	seed, err := pair.Seed()
	return string(seed) + "\n", err
}

// Write makes the folder, whole or not at all. more puts further files into it.
func (m *Machine) Write(more func(dir string) error) (err error) {
	if _, err := os.Lstat(m.Dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is there already: move it away first", m.Dir)
	}
	nats, err := m.nats()
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(m.Dir), filepath.Base(m.Dir)+".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // it has another name by then
	all := map[string]string{
		CAFile: m.CA, CertFile: m.Cert, CertKey: m.Key, LoginFile: m.Login, SystemFile: m.System, NATSFile: nats, ConfigFile: m.config(),
	}
	for name, text := range all {
		if text == "" {
			continue
		}
		if err := keyfile.Create(filepath.Join(temp, name), []byte(text)); err != nil {
			return err
		}
	}
	if err := more(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, m.Dir); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(m.Dir))
}

func (m *Machine) in(name string) string { return filepath.Join(m.Dir, name) }

// config is engramd's configuration.
func (m *Machine) config() string {
	var urls []string
	for _, host := range m.Hosts {
		urls = append(urls, fmt.Sprintf("%q", "tls://"+net.JoinHostPort(host, natsPort)))
	}
	return fmt.Sprintf("data = %q\n%scluster.enabled = true\ncluster.name = %q\ncluster.urls = [%s]\ncluster.stream = %q\ncluster.replicas = %d\n"+
		"cluster.credentials = %q\ncluster.system_credentials = %q\ncluster.tls_ca = %q\ncluster.tls_cert = %q\ncluster.tls_key = %q\n",
		m.Data, m.Options, m.Host, strings.Join(urls, ", "), m.Stream, cmp.Or(m.Replicas, len(m.Hosts)),
		m.in(LoginFile), m.in(SystemFile), m.in(CAFile), m.in(CertFile), m.in(CertKey))
}

// nats is the configuration of the machine's server of the log, "" if it has none. Users
// have the rights that engramd uses, which recover needs to remove a log: nobody can change
// how it is kept, or keep another one.
func (m *Machine) nats() (string, error) {
	if !slices.Contains(m.Hosts, m.Host) {
		return "", nil
	}
	login, err := public(m.Login)
	if err != nil {
		return "", err
	}
	system, err := public(m.System)
	if err != nil {
		return "", err
	}
	var routes []string
	for _, host := range m.Hosts {
		routes = append(routes, fmt.Sprintf("%q", "tls://"+net.JoinHostPort(host, routesPort)))
	}
	at := ""
	if net.ParseIP(m.Host) != nil {
		at = m.Host
	}
	secure := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }", m.in(CertFile), m.in(CertKey), m.in(CAFile))
	return strings.NewReplacer(
		"@HOST@", fmt.Sprintf("%q", m.Host), "@CLIENTS@", fmt.Sprintf("%q", net.JoinHostPort(at, natsPort)), "@SERVERS@", fmt.Sprintf("%q", net.JoinHostPort(at, routesPort)),
		"@SECURE@", secure, "@FOLDER@", fmt.Sprintf("%q", m.in("log")), "@ROUTES@", strings.Join(routes, ", "), "@STREAM@", m.Stream, "@LOGIN@", login, "@SYSTEM@", system,
	).Replace(natsConf), nil
}

func public(seed string) (string, error) {
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(seed)))
	if err != nil {
		return "", fmt.Errorf("credentials: %w", err)
	}
	return pair.PublicKey()
}

const natsConf = `# Server of the log of an engramd cluster, 2.12 or later: nats-server -c THIS FILE
server_name: @HOST@
listen: @CLIENTS@
max_payload: 4MB
@SECURE@
jetstream {
  store_dir: @FOLDER@
  sync_interval: always # or events are acknowledged before they are on a disk
}
cluster {
  name: engramd
  listen: @SERVERS@
  no_advertise: true
  routes: [@ROUTES@]
  @SECURE@
}
accounts {
  ENGRAMD {
    jetstream: enabled
    users: [{ nkey: @LOGIN@, permissions: {
      publish: ["engramd.log.@STREAM@", "engramd.*.@STREAM@.>", "_INBOX.>", "$JS.FC.@STREAM@.>",
        "$JS.API.STREAM.CREATE.@STREAM@", "$JS.API.STREAM.INFO.@STREAM@", "$JS.API.STREAM.PURGE.@STREAM@", "$JS.API.STREAM.DELETE.@STREAM@", "$JS.API.STREAM.MSG.GET.@STREAM@",
        "$JS.API.CONSUMER.CREATE.@STREAM@", "$JS.API.CONSUMER.CREATE.@STREAM@.>", "$JS.API.CONSUMER.INFO.@STREAM@.>", "$JS.API.CONSUMER.DELETE.@STREAM@.>"]
      subscribe: ["engramd.*.@STREAM@.>", "_INBOX.>"]
    } }]
  }
  SYS {
    users: [{ nkey: @SYSTEM@, permissions: {
      publish: ["$SYS.REQ.SERVER.PING.VARZ", "$SYS.REQ.SERVER.PING.JSZ", "$JS.API.SERVER.REMOVE"]
      subscribe: ["_INBOX.>"]
    } }]
  }
}
system_account: SYS
`
