// Package outbox delivers signed contract events: to this relay when it did not take one at once, and to further relays.
//
// What is given to it is in the database before Publish returns, and stays there until the target has said yes: neither a
// restart nor kill -9 loses it. The events of a contract go in the order they were given, one after the other. Each target
// has a lane for each author's entries in a contract and one for the states of a pair of keys: an event that is refused
// holds up its lane and nothing else, so that neither another contract nor the other party waits for it. A further relay
// gets an event after this relay has it.
//
// A target that cannot be reached, or says that it is overloaded, is left alone for a while, a lane whose event is refused
// as well: a second at first, twice as long each time, ten minutes at most, without end. What a further relay calls invalid
// for an hour it gets no more, and the next in its lane has its turn. Refusals are noted, for the API to tell. An event
// that was sent and not acknowledged is sent again; relays know events by their ids, so it is there once.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/relay"
	"engramd/internal/store"
)

// Store is where events wait; *sqlite.Store is one.
type Store interface {
	QueueEvent(ctx context.Context, ev *nostr.Event, targets []string) error
	Outbox(ctx context.Context, target string, after int64, limit int) ([]store.OutboxItem, error)
	OutboxDone(ctx context.Context, target string, numbers []int64) error
	OutboxKeep(ctx context.Context, targets []string) error
	OutboxRefused(ctx context.Context, target string, ev *nostr.Event, reason string, final bool) error
	OutboxWaits(ctx context.Context, contract, author string) (bool, error)
	OutboxWithdraw(ctx context.Context, eventID string) error
	OutboxLag(ctx context.Context, fn func(target string, waiting, oldest int64)) error
	OutboxForget(ctx context.Context, target string) (int64, error)
}

// Submitter is this relay; *relay.Relay is one.
type Submitter interface {
	Submit(ctx context.Context, ev *nostr.Event) relay.Answer
}

// Observer counts; *metrics.Metrics is one.
type Observer interface {
	// OutboxTried reports one attempt to deliver an event, to this relay (0) or to a further one, by its place in
	// Options.Targets from 1 on: "delivered", "known" (it had it), "superseded" (it has a newer one and takes no older),
	// "withdrawn", "abandoned", "refused" or "failed".
	OutboxTried(relay int, outcome string)
}

// Options are what an Outbox is made of. Store and Relay are required.
type Options struct {
	Store   Store
	Relay   Submitter
	Targets []string // ws:// and wss:// URLs of further relays
	// Identity answers the AUTH challenges of further relays. Nobody answers none. SetIdentity changes it.
	Identity client.Identity
	Timeout  time.Duration                        // for one event at one relay; 0 is 15 s
	Clock    func() time.Time                     // nil is time.Now
	After    func(time.Duration) <-chan time.Time // nil is time.After
	Log      *slog.Logger                         // nil discards
	Observe  Observer                             // nil counts nothing
}

// Outbox delivers. Make one with New, begin with Start, and end it with Close before the store is closed.
type Outbox struct {
	o         Options
	delivered func(ctx context.Context, ev *nostr.Event) error
	targets   []*target // [0] is this relay
	stop      context.CancelFunc
	running   sync.WaitGroup
}

// nobody observes nothing.
type nobody struct{}

func (nobody) OutboxTried(int, string) {}

// New makes an outbox, which takes events from now on.
func New(o Options) *Outbox {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = nobody{}
	}
	if o.Timeout <= 0 {
		o.Timeout = 15 * time.Second
	}
	b := &Outbox{o: o, stop: func() {}}
	b.targets = append(b.targets, newTarget(b, store.OutboxLocal, 0, local{o.Relay}))
	for i, url := range o.Targets {
		b.targets = append(b.targets, newTarget(b, url, i+1, newRemote(o.Identity, url, o)))
	}
	return b
}

// Start begins to deliver what waits. What waits for relays that are no targets any more is forgotten. delivered, if not
// nil, is called after this relay took an event; its error is logged and changes nothing, and it may be called twice for
// one event. Call Start once.
func (b *Outbox) Start(ctx context.Context, delivered func(ctx context.Context, ev *nostr.Event) error) error {
	if err := b.o.Store.OutboxKeep(ctx, b.o.Targets); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	b.delivered = delivered
	inner, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	for _, t := range b.targets {
		b.running.Go(func() { t.run(inner) })
	}
	return nil
}

// SetIdentity has another identity answer the AUTH challenges of further relays: connections are made anew, and what was
// on its way over one is sent again.
func (b *Outbox) SetIdentity(id client.Identity) {
	for _, t := range b.targets {
		if r, ok := t.to.(*remote); ok {
			r.become(id)
		}
	}
	b.rouse(true)
}

// Close ends deliveries under way and waits for that. What was not acknowledged is sent again after the next start.
func (b *Outbox) Close() {
	if b == nil {
		return
	}
	b.stop()
	b.running.Wait()
	for _, t := range b.targets {
		t.to.close()
	}
}

// Publish queues an event durably for the further relays and, if local, for this relay, which has not taken it yet. An
// event that waits already is no error, and neither is one too many for the further relays: that is logged.
//
// Between a commit of the relay and Publish lies a moment in which a crash keeps an event from the further relays. Who
// cannot have that submits with relay.WithForward and Targets, and calls Rouse: then one commit does both.
func (b *Outbox) Publish(ctx context.Context, ev *nostr.Event, local bool) error {
	names := b.o.Targets
	if local {
		names = append([]string{store.OutboxLocal}, names...)
	}
	if len(names) == 0 {
		return nil
	}
	err := b.o.Store.QueueEvent(ctx, ev, names)
	if errors.Is(err, store.ErrOutboxFull) {
		b.o.Log.Error("too much waits for further relays: an entry is not published there", "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	b.Rouse()
	return nil
}

// Withdraw takes an event back that is not to be published after all.
func (b *Outbox) Withdraw(ctx context.Context, eventID string) error {
	return b.o.Store.OutboxWithdraw(ctx, eventID)
}

// Waits reports whether an event of the author waits for this relay in the contract: his next one has to wait behind it.
func (b *Outbox) Waits(ctx context.Context, contract, author string) (bool, error) {
	return b.o.Store.OutboxWaits(ctx, contract, author)
}

// Targets are the URLs of the further relays; not to be changed.
func (b *Outbox) Targets() []string { return b.o.Targets }

// Rouse makes the outbox look for what was queued beside it, by the relay's own commits.
func (b *Outbox) Rouse() { b.rouse(false) }

func (b *Outbox) rouse(all bool) {
	for _, t := range b.targets {
		t.rouse(all)
	}
}

// Drop forgets what waits for a further relay, by its URL, and returns how much that was.
func (b *Outbox) Drop(ctx context.Context, url string) (int64, error) {
	n, err := b.o.Store.OutboxForget(ctx, url)
	b.rouse(true)
	return n, err
}

// Lag says how many events wait for a relay, and for how long the oldest has.
type Lag struct {
	Waiting int64
	Oldest  time.Duration
}

// Lag reads how far behind deliveries are: to this relay, and to the further ones in the order of Targets.
func (b *Outbox) Lag(ctx context.Context) ([]Lag, error) {
	now, lag := b.o.Clock(), make([]Lag, len(b.targets))
	err := b.o.Store.OutboxLag(ctx, func(name string, waiting, oldest int64) {
		if i := slices.IndexFunc(b.targets, func(t *target) bool { return t.name == name }); i >= 0 {
			lag[i] = Lag{Waiting: waiting, Oldest: max(0, now.Sub(time.Unix(oldest, 0)))}
		}
	})
	return lag, err
}
