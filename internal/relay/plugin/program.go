package plugin

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/metrics"
	"engramd/nips/kind"
)

// DefaultTimeout is what a program has for one answer.
const DefaultTimeout = time.Second

// Options say what is run and who is asking.
type Options struct {
	Command []string      // the program and its arguments; empty runs none
	Version string        // whatever changes when the program's file does; a reload starts it anew then
	Timeout time.Duration // for one answer; 0 means DefaultTimeout
	Env     []string      // of the process, "NAME=value"; nil is an empty environment

	Reader  func(ctx context.Context) gate.Reader // keys that the writer has proved; nil means none
	Addr    func(ctx context.Context) netip.Addr  // of the writer; nil means none
	Metrics *metrics.Program                      // nil counts nothing
	Log     *slog.Logger                          // nil discards

	spawn func(command, env []string) (*child, error) // for tests; nil is a process
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Reader == nil {
		o.Reader = func(context.Context) gate.Reader { return gate.Reader{} }
	}
	if o.Addr == nil {
		o.Addr = func(context.Context) netip.Addr { return netip.Addr{} }
	}
	o.Metrics, o.Log = cmp.Or(o.Metrics, metrics.None().Program), cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.spawn == nil {
		o.spawn = spawn
	}
	return o
}

// same reports whether the running process may stay.
func (o *Options) same(other *Options) bool {
	return slices.Equal(o.Command, other.Command) && o.Version == other.Version && o.Timeout == other.Timeout && slices.Equal(o.Env, other.Env)
}

// Live is the write policy program in force, which may be another after a
// reload. Its zero value runs none and lets every event pass.
type Live struct {
	current  atomic.Pointer[runner]
	retiring sync.WaitGroup
}

// Set puts a program into force, or none. The one before answers what it was
// asked and then ends. Where nothing has changed the process goes on.
func (l *Live) Set(o Options) {
	o = o.withDefaults()
	old := l.current.Load()
	if old != nil && old.same(&o) {
		return
	}
	var next *runner
	if len(o.Command) > 0 {
		next = newRunner(o)
	}
	l.current.Store(next)
	if old != nil {
		l.retiring.Go(old.retire)
	}
}

// Close ends the program and waits for its end. Later questions get an error.
func (l *Live) Close() {
	if r := l.current.Load(); r != nil {
		r.stop()
	}
	l.retiring.Wait()
}

// RejectEvent asks the program about an event whose shape and signature are
// good. It is khatru's hook. Requests to vanish, which a relay
// has to take from everybody, pass without being asked about.
func (l *Live) RejectEvent(ctx context.Context, ev *nostr.Event) (rejected bool, msg string) {
	r := l.current.Load()
	if r == nil || ev.Kind == kind.Vanish {
		return false, ""
	}
	begun := time.Now()
	got, err := r.ask(ctx, ev)
	for err != nil && l.current.Load() != r { // a reload came between
		if r = l.current.Load(); r == nil {
			return false, ""
		}
		got, err = r.ask(ctx, ev)
	}
	if err != nil {
		r.Metrics.ProgramAsked("error", time.Since(begun))
		return true, "error: the relay's write policy gave no answer; try again"
	}
	r.Metrics.ProgramAsked(got.Action, time.Since(begun))
	if got.Action == accept {
		return false, ""
	}
	return true, message(got.Msg)
}
