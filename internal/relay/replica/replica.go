package replica

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip77"
)

// Source is a relay that is followed; *transfer.Peer is one. Every event that it
// gives is verified and fits the filter.
type Source interface {
	Pages(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error) (client.RelayStatus, error)
	Reconcile(ctx context.Context, f nostr.Filter, items []nip77.Item) (have, need [][32]byte, err error)
	Fetch(ctx context.Context, f nostr.Filter, ids [][32]byte, take func(*nostr.Event) error) (missing [][32]byte, err error)
	Past(ctx context.Context, q transfer.PastQuery, take func(*nostr.Event) error) (transfer.PastAt, error)
	Live(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error, stored func()) error
	Close()
}

// Store is what following needs of the database.
type Store interface {
	Begin(ctx context.Context, ev *nostr.Event, o store.PutOptions) (store.Pending, error)
	IDs(ctx context.Context, ask store.Ask, most int, room func(n int) error) ([]nip77.Item, error)
	Follow(ctx context.Context, source string, to store.Place) error
	FollowedTo(ctx context.Context, source string) (store.Place, error)
}

// Spec is one relay to follow, as it is configured.
type Spec struct {
	URL      string
	Key      string // path of the file with the secret key; "" is nobody
	Filter   string // JSON; "" is everything
	Interval time.Duration
	Live     bool
}

// Options are what one relay is followed with.
type Options struct {
	Number int    // its place in the configuration, for log and metrics
	Name   string // under which the store remembers how far it was followed
	Spec   Spec
	Filter nostr.Filter
	PubKey string // that asks, "" for nobody

	Dial  func() (Source, error)
	Store Store
	Table func() *gate.Table
	// Judge says what no relay may bring: malformed, banned, from the future.
	Judge func(ctx context.Context, ev *nostr.Event) (reject bool, message string)

	Clock  func() time.Time
	After  func(time.Duration) <-chan time.Time
	Jitter func() float64 // from 0 to 1
	Log    *slog.Logger
	// Observe counts one event of the n-th followed relay: "taken", "known",
	// "deleted" or "refused", and the prefix of a refusal.
	Observe func(n int, outcome, prefix string)
}

// errStore means that this relay failed, and not the one that is followed.
var errStore = errors.New("the database failed")

// Pauses between attempts, first and at most, before jitter takes up to half.
const (
	firstPause = time.Second
	mostPause  = 5 * time.Minute
	// livePatience is how long a pass waits for the live question to be open.
	livePatience = 10 * time.Second
	// steadyAfter is how long a relay must be followed until its next failure
	// counts as the first again.
	steadyAfter = time.Minute
)

// Follower follows one relay.
type Follower struct {
	o     Options
	seen  *seen
	state *state
	most  int // events that are reconciled at once
}

// New makes a follower.
func New(o Options) *Follower {
	return &Follower{o: o, seen: newSeen(o.Clock), state: newState(o), most: maxSet}
}

// Run follows until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	for failures := 0; ; {
		steady, err := f.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if steady || err == nil {
			failures = 0
		}
		wait := f.o.Spec.Interval
		if err != nil {
			f.state.failed(err)
			pause := min(firstPause<<min(failures, 20), mostPause)
			wait, failures = pause/2+time.Duration(f.o.Jitter()*float64(pause/2)), failures+1
		}
		select {
		case <-f.o.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// Once makes one pass and says what came.
func (f *Follower) Once(ctx context.Context) (Status, error) {
	src, err := f.o.Dial()
	if err != nil {
		return f.state.status(), err
	}
	defer src.Close()
	k := newSink(ctx, &f.o, f.seen, f.state.count)
	out, err := f.pass(ctx, src, k)
	k.close()
	if err == nil {
		f.state.upToDate(false, out)
	}
	return f.state.status(), err
}

// Status is where it stands.
func (f *Follower) Status() Status { return f.state.status() }

// session follows over one connection until that ends. Without a live question
// it ends after one pass. steady means that it went well for a while.
func (f *Follower) session(ctx context.Context) (steady bool, err error) {
	f.state.connecting()
	src, err := f.o.Dial()
	if err != nil {
		return false, err
	}
	var passed time.Time // first
	defer func() { steady = !passed.IsZero() && f.o.Clock().Sub(passed) >= steadyAfter }()
	defer src.Close()
	k := newSink(ctx, &f.o, f.seen, f.state.count)
	defer k.close()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	if f.o.Spec.Live {
		opened := make(chan struct{}, 1)
		go func() { ended <- f.live(ctx, src, k, opened) }()
		defer func() {
			cancel()
			src.Close()
			<-ended // it puts no more
		}()
		select {
		case <-opened:
		case err := <-ended:
			ended <- err
			return false, err
		case <-f.o.After(livePatience):
			return false, client.ErrTimeout
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	defer cancel()
	for {
		f.state.catchingUp()
		out, err := f.pass(ctx, src, k)
		if err != nil {
			return false, err
		}
		if passed.IsZero() {
			passed = f.o.Clock()
		}
		f.state.upToDate(f.o.Spec.Live, out)
		if !f.o.Spec.Live {
			return false, nil
		}
		select {
		case err := <-ended:
			ended <- err
			return false, err
		case <-f.o.After(f.o.Spec.Interval):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// live takes what arrives at the source.
func (f *Follower) live(ctx context.Context, src Source, k *sink, opened chan<- struct{}) error {
	q := f.o.Filter
	q.LimitZero = true
	return src.Live(ctx, q, func(ev *nostr.Event) error { return k.put(ev, false) }, func() {
		select {
		case opened <- struct{}{}:
		default:
		}
	})
}
