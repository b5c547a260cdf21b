// Package config declares every option of the daemon once: its TOML key, from
// which its flag and environment variable follow, its default, its help and
// whether it can change while the daemon runs.
//
// An option is set by, in this order, its flag, its environment variable, the
// file and its default. An unknown key or a bad value is an error that names
// itself. The package imports no other package of the daemon: what a gate rule
// or a quota means is decided where it is used.
package config

import (
	"net/netip"
	"time"
)

// Config is the effective configuration. Sizes are bytes, rates are per
// second, pubkeys are 64 lower-case hex digits. Make one with Load or Default.
type Config struct {
	Listen        string   // HOST:PORT of websocket and HTTP; port 0 picks a free one
	Data          string   // data folder
	PublicURL     []string // ws:// or wss:// names of the relay
	MetricsListen string   // HOST:PORT of /metrics; "" is off
	MetricsPprof  bool     // /debug/pprof/ on the metrics listener
	RestoreAllow  bool     // rollbacks may take heads away
	RelayKey      string   // where the relay's identity key is: auto, a path or env:NAME

	Log       Log
	Info      Info
	Gate      Gate
	Write     Write
	Read      struct{ AuthRequired bool } // nobody reads anything without having proved a key
	Limits    Limits
	Timeouts  struct{ Shutdown time.Duration }
	History   History
	Retention struct{ Rules []string } // "KINDS AGE", "KINDS max NUMBER", "KINDS AGE max NUMBER"
	Proxy     Proxy
	Store     Store
	Sync      struct{ Serve bool }   // reconciliations (NIP-77)
	Web       struct{ Enabled bool } // the owner's page, below /app/
	Events    Events
	Admin     struct{ Keys []string } // pubkeys that manage the relay over the network (NIP-86)
	Contracts Contracts
	Snapshot  Snapshot
	Replica   []Replica
	Cluster   Cluster

	origins map[string]string // key → where its value came from; absent: default
	set     []Removed
}

// Log says what is logged, and how.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // text, json
	Access bool   // one line for each HTTP request and websocket connection
}

// Info is what the relay says of itself (NIP-11).
type Info struct {
	Name, Description, Icon, Contact string
	Pubkey                           string // "" when none
}

// Gate configures the read gate.
type Gate struct {
	Wildcard  string   // reject, exclude
	IDs       string   // event, party
	Contracts string   // contract, parties, public
	Rules     []string // further gated kinds: "KIND READERS [ids]"
	Replicas  []string // pubkeys that read everything
}

// Write says who may write what.
type Write struct {
	Authors, Owners []string // pubkeys
	Kinds           []int
	BanAuthors      []string // pubkeys
	BanKinds        []int
	Program         []string      // a program and its arguments, asked about every event; empty: none
	ProgramTimeout  time.Duration // for one of its answers
}

// Limits bounds what clients can make the relay do, beside what Bounds has. Zero
// turns off those that say so in their help.
type Limits struct {
	MessageBytes          int
	Subscriptions         int
	Memory                int64
	Connections           int
	ConnectionsPerAddress int
	LoopbackExempt        bool // of rates, budgets and bounds per address
	EventsPerKey          Rate
	EventsPerAddress      Rate
	BytesPerAddress       int // an hour; 0 = no limit
	AuthorBytes           int64
	AuthorEvents          int64
	MaxLimit              int
	QueryTimeout          time.Duration
	Future                time.Duration
}

// Rate allows PerSecond in the long run and Burst at once. PerSecond 0 is no
// limit.
type Rate struct {
	PerSecond float64
	Burst     int
}

// History says how many superseded versions of gated kinds are kept.
type History struct {
	Versions     int // per address
	Days         int // since superseded; 0 = no limit
	ContractDays int // since the contract's final state; 0 = for ever
}

// Proxy says whose word on client addresses is taken.
type Proxy struct {
	Trusted []netip.Prefix
	Header  string
}

// Store configures the database.
type Store struct {
	MaxBytes int64 // 0 = no limit, Auto = what leaves a tenth of the disk
}

// Events configures what a NATS broker is told.
type Events struct {
	NATS        string // URLs, by commas; "" is off
	Credentials string // path; "" is none
	Prefix      string // of snapshot subjects
	Mutations   bool   // one message for each write to an agent's memory
}

// Contracts configures the contract memory API.
type Contracts struct {
	MasterKey string   // where it is: auto, off, a path or env:NAME
	PublishTo []string // ws:// and wss:// URLs
	AnyID     bool     // new contracts may have ids that can be guessed
}

// Snapshot configures bundles of agents' memory.
type Snapshot struct {
	Root          string        // folder; "" is the data folder
	Keep          int           // bundles that somebody asked for, per agent; 0 = no limit
	KeepAutomatic int           // bundles made automatically, per agent; 0 = no limit
	MaxAgeDays    int           // 0 = no limit
	Every         time.Duration // between scheduled bundles; 0 is off
	Agents        []string      // of the schedule: pubkeys; empty: all
	Recipients    []string      // age recipients
	Identity      string        // path of a file of age identities; "" is none
	TrustedKeys   []string      // pubkeys whose signatures are believed beside the relay's own
}

// Cluster says of what log this node is one of several, and how it asks it.
type Cluster struct {
	Enabled           bool
	URLs              []string // of the log's servers: nats:// or tls://
	Stream            string   // the log's name there
	Replicas          int      // servers that have each message
	Credentials       string   // path of a credentials file or an nkey seed; "" is none
	TLSCA             string   // paths of PEM files; "" is the system's, or none
	TLSCert           string
	TLSKey            string
	Monitor           []string // http:// or https:// URLs of the servers' monitoring
	SystemCredentials string   // path of the system account's credentials; "" is none
	TrustSync         bool     // nobody looks whether the servers sync what they acknowledge
	Reads             string   // latest, local, session
	Name              string   // of this node; "" is the host's
}

// Default returns the configuration with every option at its default.
func Default() *Config {
	c := &Config{origins: map[string]string{}}
	for _, o := range c.options() {
		o.value.reset()
	}
	return c
}

// Said reports whether anybody set a key, to whatever value.
func (c *Config) Said(key string) bool {
	_, ok := c.origins[key]
	return ok
}

// Origin reports where the value of a key came from: "default", "environment
// NAME", "flag --name", "file PATH" or "cluster".
func (c *Config) Origin(key string) string {
	if from, ok := c.origins[key]; ok {
		return from
	}
	return "default"
}
