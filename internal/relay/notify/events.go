// Package notify tells a NATS broker what happened to snapshots and, when asked
// to, that an agent wrote. It is for the operator: off by default, best effort,
// and never in anybody's way. docs/events.md has the subjects and the payloads.
//
// Every message goes into a bounded queue; a full queue drops it. A goroutine
// of its own connects, sends and connects again. No call waits for the broker,
// and none fails.
package notify

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"engramd/internal/relay/metrics"
)

// MutatedPrefix is what subjects of writes begin with.
const MutatedPrefix = "engramd.mutated"

// Options are how a Publisher is made.
type Options struct {
	URL         string // nats://HOST:PORT or tls://HOST:PORT, several by commas, without user and password
	Credentials string // path of a NATS credentials file (.creds) or of a file with an nkey seed; "" is none
	Prefix      string // of snapshot subjects, such as "engramd.snapshot"
	Queue       int    // messages that may wait; default 1024
	Log         *slog.Logger
	Observe     *metrics.Broker  // nil counts nothing
	Clock       func() time.Time // nil means time.Now
	Retry       time.Duration    // the first pause before connecting again; default 500 ms, doubled up to 30 s
}

// Errors of New. They are mistakes of the operator; that a broker cannot be
// reached is none.
var (
	ErrURL         = errors.New("want nats://HOST:PORT or tls://HOST:PORT, without user and password (they go into events.credentials)")
	ErrPrefix      = errors.New("want words of letters, digits, _ and - with points between them")
	ErrCredentials = errors.New("the credentials file cannot be used")
)

// Check returns the error that New would return.
func (o *Options) Check() error {
	for one := range strings.SplitSeq(o.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.User != nil {
			return ErrURL // which may hold a password
		}
	}
	if o.Prefix == "" || len(o.Prefix) > 128 {
		return ErrPrefix
	}
	for word := range strings.SplitSeq(o.Prefix, ".") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			return ErrPrefix
		}
	}
	if o.Credentials != "" {
		if _, err := o.login(); err != nil {
			return err
		}
	}
	return nil
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	if o.Queue <= 0 {
		o.Queue = 1024
	}
	o.Log, o.Observe = cmp.Or(o.Log, slog.New(slog.DiscardHandler)), cmp.Or(o.Observe, metrics.None().Broker)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Retry <= 0 {
		o.Retry = 500 * time.Millisecond
	}
	return o
}

// readable reports whether the credentials file is there, and whether it holds
// a JWT.
func readable(path string) (jwt bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	if !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return false, fmt.Errorf("%w: %s is no such file", ErrCredentials, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	return strings.Contains(string(text), "NATS USER JWT"), nil
}
