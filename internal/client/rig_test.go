package client

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/testkeys"
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

// who makes the identity of a name. Its secret key is public.
func who(t testing.TB, name string) Identity {
	t.Helper()
	id, err := NewIdentity(testkeys.New(name).Secret)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// clientFor makes a client that is closed with the test. change may be nil.
func clientFor(t testing.TB, id Identity, relays []string, change func(*Options)) *Client {
	t.Helper()
	o := Options{Relays: relays, Timeout: patience, Grace: patience, Near: anywhere} // the machine is shared, and has all relays
	if change != nil {
		change(&o)
	}
	c := New(id, o)
	t.Cleanup(c.Close)
	return c
}

// quick shortens the time limit, for relays that do not answer.
func quick(o *Options) { o.Timeout, o.Grace = 1500*time.Millisecond, 0 }

// scaled calls try with a time limit of a second, and again with longer ones
// while it fails: tests share their machine, and a relay may have had no time
// to answer. What fails at every limit is a fault.
func scaled(t testing.TB, try func(timeout func(*Options)) error) {
	t.Helper()
	for limit := time.Second; ; limit *= 3 {
		err := try(func(o *Options) { o.Timeout, o.Grace = limit, 0 })
		if err == nil {
			return
		}
		if limit > 20*time.Second {
			t.Error(err)
			return
		}
		t.Logf("with %v: %v", limit, err)
	}
}

// inTime returns an error if what began at start took much longer than the time
// limit.
func inTime(what string, start time.Time, timeout func(*Options)) error {
	var o Options
	timeout(&o)
	if took := time.Since(start); took > o.Timeout*3/2 {
		return fmt.Errorf("%s took %v of %v", what, took, o.Timeout)
	}
	return nil
}

// put publishes events to relays without a client's checks.
func put(t testing.TB, relays []string, events ...*nostr.Event) {
	t.Helper()
	c := clientFor(t, who(t, "courier"), relays, nil)
	for _, ev := range events {
		all, err := c.Publish(t.Context(), ev)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if !s.Accepted {
				t.Fatalf("%s: %v", s.URL, s.Err)
			}
		}
	}
}

// transcript collects everything that a client shows: trace and log.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.b.Write(p)
}

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.b.String()
}

// into has a client write its trace and log to the transcript.
func (tr *transcript) into(o *Options) {
	o.Trace = func(relay string, sent bool, frame []byte) { fmt.Fprintln(tr, relay, sent, string(frame)) }
	o.Log = slog.New(slog.NewTextHandler(tr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func contextWithin(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// anywhere is client.Options.Near of a test.
func anywhere(netip.AddrPort) bool { return true }
