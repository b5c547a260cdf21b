package follow

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/memory/localcopy"
	"engramd/nips/nip77"
)

// Source is a relay that is followed; *transfer.Peer is one. Every event that it
// gives is verified and fits the filter.
type Source interface {
	URL() string
	Canonical() string
	Pages(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error) (client.RelayStatus, error)
	Reconcile(ctx context.Context, f nostr.Filter, items []nip77.Item) (have, need [][32]byte, err error)
	Fetch(ctx context.Context, f nostr.Filter, ids [][32]byte, take func(*nostr.Event) error) (missing [][32]byte, err error)
	Count(ctx context.Context, f nostr.Filter) (int64, error)
	Live(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error, stored func()) error
}

// Store is the local copy; *localcopy.Copy is one. Relays are named by their
// canonical URLs.
type Store interface {
	Put(ctx context.Context, relay string, events []*nostr.Event) (localcopy.Changes, error)
	Holds(ctx context.Context, relay string) ([]nip77.Item, error)
	Lost(ctx context.Context, relay string, ids [][32]byte) (localcopy.Changes, error)
	Bare(ctx context.Context, relay string) ([][32]byte, error)
	Begin(ctx context.Context, relay string) (localcopy.Mark, error)
	Mark(ctx context.Context, relay string) (localcopy.Mark, error)
	SetMark(ctx context.Context, relay string, m localcopy.Mark) error
	Relays(ctx context.Context) ([]string, error)
	Forget(ctx context.Context, relay string) (localcopy.Changes, error)
	Freshness(ctx context.Context, relays []string) (localcopy.Freshness, error)
}

// Options are what a memory is followed with.
type Options struct {
	Filter nostr.Filter // everything of the pair: nipae.ListFilter
	Store  Store
	// Sources are the relays that are asked now, and whether that is all of them:
	// otherwise there may be others, and nothing is forgotten.
	Sources func() (sources []Source, all bool)

	// Passed is called in each pass once its events are in the store, before the store
	// says that it is current, and told whether everything was compared; nil is not
	// called.
	Passed func(ctx context.Context, full bool)

	Clock  func() time.Time                     // nil means time.Now
	After  func(time.Duration) <-chan time.Time // nil means time.After
	Jitter func() float64                       // from 0 to 1; nil means by chance
	Log    *slog.Logger                         // nil discards
}

// Follower keeps one local copy current.
type Follower struct {
	o      Options
	unkept *unkept

	mu      sync.Mutex
	running map[string]*run // by canonical URL, while Run runs
	started chan struct{}   // closed when Run has looked at the relays once
}

// Of follows the relays of a client.
func Of(c *client.Client) func() ([]Source, bool) {
	return func() ([]Source, bool) {
		var out []Source
		for _, p := range transfer.Peers(c) {
			out = append(out, p)
		}
		return out, len(c.Doubts()) == 0
	}
}

// New makes a follower.
func New(o Options) *Follower {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Follower{o: o, unkept: &unkept{clock: o.Clock, all: map[string]map[[32]byte]vain{}}, running: map[string]*run{}, started: make(chan struct{})}
}

// errStore means that the local copy failed, and not a relay.
var errStore = errors.New("the local copy failed")

// Relays are those that are asked now, by their canonical URLs, and whether these
// are all that there are.
func (f *Follower) Relays() (urls []string, whole bool) {
	sources, whole := f.o.Sources()
	for _, s := range sources {
		urls = append(urls, s.Canonical())
	}
	return urls, whole
}

// Freshness says how current the copy is, by all relays that are asked.
func (f *Follower) Freshness(ctx context.Context) (localcopy.Freshness, error) {
	relays, all := f.Relays()
	fresh, err := f.o.Store.Freshness(ctx, relays)
	fresh.Stale = fresh.Stale || !all
	return fresh, err
}

// Wrote takes in what was written to relays, named by their URLs (client.Status.Wrote
// and Took). What fails is caught up with later.
func (f *Follower) Wrote(ctx context.Context, ev *nostr.Event, relays []string) {
	sources, _ := f.o.Sources()
	for _, s := range sources {
		for _, url := range relays {
			if s.URL() != url {
				continue
			}
			if _, err := f.o.Store.Put(ctx, s.Canonical(), []*nostr.Event{ev}); err != nil {
				f.o.Log.Debug("a write is not in the local copy yet", "relay", url, "error", err)
			}
		}
	}
}

// forgetAfter is how long nobody must have confirmed a relay that is not asked
// any more.
const forgetAfter = time.Hour

// forget drops relays that are not asked any more.
func (f *Follower) forget(ctx context.Context) error {
	sources, all := f.o.Sources()
	if !all {
		return nil
	}
	asked := map[string]bool{}
	for _, s := range sources {
		asked[s.Canonical()] = true
	}
	known, err := f.o.Store.Relays(ctx)
	if err != nil {
		return err
	}
	for _, relay := range known {
		if asked[relay] {
			continue
		}
		m, err := f.o.Store.Mark(ctx, relay)
		if err == nil && f.o.Clock().Sub(m.Confirmed) > forgetAfter {
			_, err = f.o.Store.Forget(ctx, relay)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
