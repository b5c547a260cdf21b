package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"engramd/internal/relay/cluster"
)

// Options are how a connection to the log is made.
type Options struct {
	// URLs of the servers, nats://HOST:PORT or tls://HOST:PORT, without user and
	// password. No others are used, whatever the servers advertise.
	URLs []string
	// Credentials is the path of a NATS credentials file (.creds), or of a file
	// with a user's nkey seed; "" is none, which only loopback allows. It is read
	// again for each connection.
	Credentials string
	TLSCA       string // file with the certificates that sign the servers'; "" means the system's
	TLSCert     string // file with this node's own certificate; "" is none
	TLSKey      string // and its key

	Stream   string // its name; default "ENGRAMD_LOG"
	Replicas int    // how many servers keep it; odd, default 3
	MaxBytes int64  // of a stream that Create makes: what comes when it is full is refused; 0 is no limit

	// Monitor has the monitoring URL of every server, http://HOST:PORT or
	// https://HOST:PORT: whether a server syncs is told there and nowhere else,
	// except to users of the system account.
	Monitor []string
	// SystemCredentials is like Credentials, of a user of the system account, which asks
	// all servers that there are. Monitor is not used then.
	SystemCredentials string
	// TrustSync says that the operator answers for the servers' sync_interval. It
	// counts if there is neither Monitor nor SystemCredentials.
	TrustSync bool

	AppendTimeout time.Duration // until an append fails with cluster.ErrUnknown; default 2 s
	InFlight      int           // appends without an answer; default 1024
	CheckEvery    time.Duration // what Watch waits between checks; default one minute
	Patience      time.Duration // how long Check asks for what does not answer; default 15 s
	Log           *slog.Logger
}

// Errors of Open, Check and Create.
var (
	ErrOptions = errors.New("the connection to the log is not configured as it must be")
	// ErrRefused means that the servers or the stream are set up in a way in which
	// acknowledged events can be lost.
	ErrRefused = errors.New("the log is not set up as it must be")
	// ErrAway means that no server takes a connection.
	ErrAway = errors.New("no server of the log can be reached")
	// ErrUnverified means that not all that has to be known could be asked now.
	ErrUnverified = errors.New("the log's settings could not be verified")
)

// How to say whether the servers sync.
const wantSync = "an acknowledged event must be synced, and the servers do not tell a client whether they do: " +
	"set sync_interval: always in the jetstream block of every server, and name the credentials of a user of the system account in " +
	"cluster.system_credentials, or list the monitoring URLs of all servers in cluster.monitor (http://HOST:8222), " +
	"or answer for it yourself with cluster.trust_sync = true"

// check returns an ErrOptions.
func (o *Options) check() error {
	if len(o.URLs) == 0 {
		return fmt.Errorf("%w: there is no URL of a NATS server", ErrOptions)
	}
	away := false
	for _, one := range o.URLs {
		u, err := url.Parse(one)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.User != nil {
			return fmt.Errorf("%w: want nats://HOST:PORT or tls://HOST:PORT, without user and password (they go into a credentials file)", ErrOptions)
		}
		if loopback(u.Hostname()) {
			continue
		}
		away = true
		if u.Scheme != "tls" {
			return fmt.Errorf("%w: %s is not on this machine, so it must be tls://: who may publish owns the relay", ErrOptions, u.Host)
		}
	}
	if away && o.Credentials == "" {
		return fmt.Errorf("%w: servers that are not on this machine need credentials: who may publish owns the relay", ErrOptions)
	}
	if strings.Trim(o.Stream, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || len(o.Stream) > 64 {
		return fmt.Errorf("%w: the stream's name has other signs than letters, digits, _ and -", ErrOptions)
	}
	if o.Replicas < 1 || o.Replicas%2 == 0 || o.Replicas > 5 {
		return fmt.Errorf("%w: %d replicas; want 3 or 5", ErrOptions, o.Replicas)
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return fmt.Errorf("%w: a certificate needs its key, and a key its certificate", ErrOptions)
	}
	for _, path := range []string{o.Credentials, o.SystemCredentials} {
		if _, err := login(path); err != nil {
			return err
		}
	}
	return o.checkMonitor()
}

func (o *Options) checkMonitor() error {
	for _, one := range o.Monitor {
		u, err := url.Parse(one)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" {
			return fmt.Errorf("%w: monitoring URLs are like http://HOST:8222", ErrOptions)
		}
		if u.Scheme != "https" && !loopback(u.Hostname()) {
			return fmt.Errorf("%w: the monitoring URL of %s is not on this machine, so it must be https:// "+
				"(https_port of the server); or use cluster.system_credentials instead of cluster.monitor", ErrOptions, u.Host)
		}
	}
	if len(o.Monitor) == 0 && o.SystemCredentials == "" && !o.TrustSync {
		return fmt.Errorf("%w: %s", ErrOptions, wantSync)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// login returns the option for a credentials file, which is none for "".
func login(path string) (nats.Option, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: credentials: %w", ErrOptions, err)
	}
	if !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return nil, fmt.Errorf("%w: %s is no credentials file", ErrOptions, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: credentials: %w", ErrOptions, err)
	}
	if strings.Contains(string(text), "NATS USER JWT") {
		return nats.UserCredentials(path), nil
	}
	seed, err := nats.NkeyOptionFromSeed(path)
	if err != nil {
		return nil, fmt.Errorf("%w: there is neither a JWT nor a user's nkey seed in the credentials file", ErrOptions)
	}
	return seed, nil
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	if o.Stream == "" {
		o.Stream = "ENGRAMD_LOG"
	}
	if o.Replicas == 0 {
		o.Replicas = 3
	}
	if o.SystemCredentials != "" {
		o.Monitor = nil
	}
	if o.InFlight <= 0 {
		o.InFlight = 1024
	}
	for _, d := range []struct {
		of   *time.Duration
		wait time.Duration
	}{{&o.AppendTimeout, 2 * time.Second}, {&o.CheckEvery, time.Minute}, {&o.Patience, 15 * time.Second}} {
		if *d.of <= 0 {
			*d.of = d.wait
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

var _ cluster.Log = (*Conn)(nil)
