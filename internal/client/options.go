package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Trace is told of every websocket frame: relay is the URL as configured, sent
// tells the direction. Calls come one at a time; frame must not be kept. Frames
// never hold a secret key or a decrypted text.
type Trace func(relay string, sent bool, frame []byte)

// Near decides about a relay at an address of this machine or its network.
type Near func(at netip.AddrPort) bool

// Limits bound what one relay may make us take. Zero means the default.
type Limits struct {
	FrameBytes int64 // one websocket message; default 512 KiB
	Bytes      int64 // all messages in answer to one request; default 512 MiB
	Events     int   // all events in answer to one request, repeats included; default 100,000
	BodyBytes  int64 // one HTTP answer; default 64 MiB
	Page       int   // events asked for at a time; default 5,000, which is what engramd gives at most
}

// Bounds that are not worth an option.
const (
	// MaxRejected is how many wrong events a relay may send in one answer.
	MaxRejected = 100
	// maxAuths is how many different challenges of one connection are answered.
	maxAuths = 4
	// closePatience is how long a CLOSE may take to be written. The connection ends
	// with it, so that it is longer than a busy machine stalls; a relay that does not
	// read delays nobody before the buffers of the socket are full.
	closePatience = 5 * time.Second
	// minGrace is the least time that relays get that are waited for alone.
	minGrace = 100 * time.Millisecond
	// slowShare is the part of the time left that a relay gets to take an event
	// which has just let a question time out, once all others have answered.
	slowShare = 6
	// maxIdleFrames is how many frames may come while nothing is asked.
	maxIdleFrames = 1000
	// maxIdle is how long an unused connection is trusted to be alive.
	maxIdle = 30 * time.Second
	// listedPatience is the least time that a relay gets which only the agent's
	// list names.
	listedPatience = 3 * time.Second
	// MaxRelays is how many relays of one NIP-65 list are used.
	MaxRelays = 32
	// defaultTimeout is Options.Timeout when that is zero, and defaultGrace is
	// Options.Grace.
	defaultTimeout = 10 * time.Second
	defaultGrace   = 2 * time.Second
)

// Options are how a Client is made. Every field may be zero.
type Options struct {
	// Relays are ws:// or wss:// URLs, connected to as written. Two that are the
	// same relay (nipae.CanonicalRelayURL) count once. One that is no relay URL
	// is a relay that fails.
	Relays []string
	// Ignore are relays that are not asked because the agent lists them. They are
	// asked if they are configured.
	Ignore []string
	// WriteListed has the relays of the agent's list written to as well. They are
	// its public relays, and most have no gate.
	WriteListed bool
	// Decider is the relay that decides compare-and-sets; "" is the first that
	// can, in the order of canonical URLs.
	Decider string
	// Owner is the owner of the client's identity, and Agent the agent of which
	// it is the owner; each may be "". What an owner writes to his agent is no
	// memory: see Memory.Reversed.
	Owner, Agent string
	// Patient waits for every relay as long as Timeout allows. Otherwise one that
	// lets the others wait is given up where an answer may be partial.
	Patient bool
	// Timeout bounds every operation as a whole; default 10 s.
	Timeout time.Duration
	// Grace is how long a relay is waited for, at least where there is time, once
	// another has answered and no more do; default 2 s. One that only the agent's
	// list names, or that may not reconcile, gets as long, and seconds at least.
	Grace time.Duration
	Clock func() time.Time // nil means time.Now
	// Wait waits that long, or until ctx ends; nil means by the real clock.
	Wait  func(ctx context.Context, d time.Duration) error
	Rand  io.Reader // of nonces; nil means crypto/rand
	Trace Trace     // nil traces nothing
	// Resolver resolves names; nil is the system's.
	Resolver *net.Resolver
	// Near allows a relay that only the agent's list names at an address of this machine
	// or its network also where no configured relay is; nil allows none.
	Near Near
	// Links gives the log that the writes of the client's identity for an owner go
	// into, nil for none. nil chains nothing.
	Links func(c *Client, owner string) Links
	// Known gives what this machine knows of a pair's memory beside what relays show;
	// nil knows nothing.
	Known func(c *Client, agent, owner string) Known
	// Named says that a person named the relays for this one question: what they show is
	// the answer, and what is known beside it is said.
	Named  bool
	Log    *slog.Logger // nil discards; debug only
	Limits Limits
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	o.Trace = o.Trace.inTurn()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &o.Limits
	l.FrameBytes = orDefault(l.FrameBytes, 512<<10)
	l.Bytes = orDefault(l.Bytes, 512<<20)
	l.Events = orDefault(l.Events, 100_000)
	l.BodyBytes = orDefault(l.BodyBytes, 64<<20)
	l.Page = orDefault(l.Page, 5000)
	return o
}

// inTurn has a trace called by one caller at a time.
func (t Trace) inTurn() Trace {
	if t == nil {
		return func(string, bool, []byte) {}
	}
	var mu sync.Mutex
	return func(relay string, sent bool, frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		t(relay, sent, frame)
	}
}

func (o Options) tracer(url string) func(sent bool, frame []byte) {
	return func(sent bool, frame []byte) { o.Trace(url, sent, frame) }
}

// now returns the clock in Unix seconds.
func (o Options) now() int64 { return o.Clock().Unix() }

// Random returns n random bytes.
func (o Options) Random(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(o.Rand, b); err != nil {
		return nil, fmt.Errorf("randomness: %w", err)
	}
	return b, nil
}

func orDefault[T int | int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}
