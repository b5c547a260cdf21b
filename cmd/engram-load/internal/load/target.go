package load

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Target is the relay that is measured.
type Target struct {
	Name string // for the result; URL if empty
	URL  string // ws:// or wss://
	PID  int    // its process on this machine; 0: unknown
}

// AuthMode says what to do about NIP-42.
type AuthMode string

const (
	// AuthAuto answers a challenge that comes before the first answer or with it.
	AuthAuto AuthMode = "auto"
	// AuthNever answers none.
	AuthNever AuthMode = "never"
	// AuthRequire is AuthAuto, and no challenge is an error.
	AuthRequire AuthMode = "require"
)

// Options say how much is measured, and how. Zero fields mean the workload's
// defaults.
type Options struct {
	Count       int           `json:"count"`       // operations: events, requests, …, as the workload says
	Connections int           `json:"connections"` // at once
	Pipeline    int           `json:"pipeline"`    // operations of one connection that wait for an answer
	Warmup      int           `json:"warmup"`      // operations before the clock starts; less than 0: none
	Size        int           `json:"size"`        // events of the corpus that the relay was filled with
	Seed        uint64        `json:"seed"`        // of keys, texts and choices
	Timeout     time.Duration `json:"timeout_ns"`  // for the whole run
	Rate        float64       `json:"rate,omitempty"`
	// Subscriptions are those of live-wide, all connections together.
	Subscriptions int `json:"subscriptions,omitempty"`
	// Exec is the command line that import and disk run, in which {file} stands
	// for the file of events and {data} for a new folder; Check, if there is one,
	// then prints what is stored.
	Exec  string   `json:"exec,omitempty"`
	Check string   `json:"check,omitempty"`
	Auth  AuthMode `json:"auth"`
	Cache string   `json:"-"` // folder of events that are signed already
	// Clock is for times of day; nil is time.Now. Durations are always measured
	// with the monotonic clock.
	Clock func() time.Time `json:"-"`
	// Rand is for masking keys and websocket nonces; nil is crypto/rand.Reader.
	Rand io.Reader `json:"-"`
}

// Bounds of the options.
const (
	MaxCount       = 100_000_000
	MaxConnections = 20_000
	// MaxPipeline keeps the answers that wait within what sockets buffer, so that
	// two sides which both write cannot block each other.
	MaxPipeline = 1000
	MaxSize     = 10_000_000
	MaxTimeout  = 24 * time.Hour
	// MaxSubscriptions bounds those of live-wide.
	MaxSubscriptions = 1_000_000
)

// ErrOptions is what every error about options is.
var ErrOptions = errors.New("options")

// or returns o with the fields of defaults where it has none, checked.
func (o Options) or(defaults Options) (Options, error) {
	number := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	number(&o.Count, defaults.Count)
	number(&o.Connections, defaults.Connections)
	number(&o.Pipeline, defaults.Pipeline)
	number(&o.Warmup, defaults.Warmup)
	number(&o.Size, defaults.Size)
	number(&o.Subscriptions, defaults.Subscriptions)
	number(&o.Pipeline, 1)
	number(&o.Size, 100_000)
	number(&o.Count, o.Size) // a workload that goes through the corpus
	number(&o.Connections, 1)
	o.Warmup = max(o.Warmup, 0)
	if o.Seed == 0 {
		o.Seed = max(defaults.Seed, 1)
	}
	if o.Timeout == 0 {
		o.Timeout = defaults.Timeout
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.Rate == 0 {
		o.Rate = defaults.Rate
	}
	if o.Auth == "" {
		o.Auth = defaults.Auth
	}
	if o.Auth == "" {
		o.Auth = AuthAuto
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o, o.check()
}

func (o Options) check() error {
	for _, b := range []struct {
		name            string
		v, least, bound int
	}{
		{"count", o.Count, 1, MaxCount},
		{"connections", o.Connections, 1, MaxConnections},
		{"pipeline", o.Pipeline, 1, MaxPipeline},
		{"warmup", o.Warmup, 0, MaxCount},
		{"size", o.Size, 1, MaxSize},
	} {
		if b.v < b.least || b.v > b.bound {
			return fmt.Errorf("%w: %s is %d and must be between %d and %d", ErrOptions, b.name, b.v, b.least, b.bound)
		}
	}
	if o.Timeout <= 0 || o.Timeout > MaxTimeout {
		return fmt.Errorf("%w: timeout is %v and must be between 0 and %v", ErrOptions, o.Timeout, MaxTimeout)
	}
	if o.Rate < 0 || math.IsNaN(o.Rate) || math.IsInf(o.Rate, 0) {
		return fmt.Errorf("%w: rate is %v", ErrOptions, o.Rate)
	}
	switch o.Auth {
	case AuthAuto, AuthNever, AuthRequire:
		return nil
	}
	return fmt.Errorf("%w: auth is %q and must be auto, never or require", ErrOptions, o.Auth)
}
