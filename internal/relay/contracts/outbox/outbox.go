// Package outbox delivers signed contract events: to this relay when it did not
// take one at once, and to further relays.
//
// An event is in the database before Publish returns, and stays there until the
// target has acknowledged it: neither a restart nor kill -9 loses it. The
// events of a contract are sent in the order in which they were queued, one
// after the other. Each target has a lane for each author's entries in a
// contract and one for the states of a pair of keys: a refused event holds up
// its lane and nothing else, so that neither another contract nor the other
// party waits for it. A further relay gets an event after this relay has it.
//
// A target that cannot be reached, or that is overloaded, is left alone for a
// while, and so is a lane whose event was refused: for a second at first, then
// twice as long each time, ten minutes at most, without end. An event that a
// further relay calls invalid for an hour is not sent there again, and the next
// in its lane has its turn. Refusals are noted, and the API shows them. An
// event that was sent and not acknowledged is sent again; relays know events by
// their ids, so that they store it once.
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
	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/store"
)

// Store keeps the events that wait; *sqlite.Store implements it.
type Store interface {
	Tell(ctx context.Context, c store.Command) error
	Outbox(ctx context.Context, target string, after int64, limit int) ([]store.OutboxItem, error)
	OutboxRefused(ctx context.Context, target string, ev *nostr.Event, reason string, final bool) error
	OutboxWaits(ctx context.Context, contract, author string) (bool, error)
	OutboxLag(ctx context.Context, fn func(target string, waiting, oldest int64)) error
	OutboxForget(ctx context.Context, target string) (int64, error)
}

// Options configure an Outbox. Store and Relay are required.
type Options struct {
	Store   Store
	Relay   relay.Submitter
	Targets []string // ws:// and wss:// URLs of further relays
	// Identity answers the AUTH challenges of further relays; client.Nobody
	// leaves them unanswered. SetIdentity changes it.
	Identity client.Identity
	Timeout  time.Duration                        // for one event at one relay; 0 is 15 s
	Clock    func() time.Time                     // nil is time.Now
	After    func(time.Duration) <-chan time.Time // nil is time.After
	Log      *slog.Logger                         // nil discards
	// Observe counts an attempt to deliver an event to this relay (0), or to a
	// further one by its place in Targets, from 1 on. The outcome is "delivered",
	// "known" (the relay had it), "superseded" (the relay has a newer one and takes
	// no older), "withdrawn", "abandoned", "refused" or "failed". nil counts nothing.
	Observe func(relay int, outcome string)
}

// Outbox delivers events. Make one with New, begin with Start, and end it with
// Close before the store is closed. Of several nodes that hold the same memory
// one delivers for all: there, Run takes Start's place.
type Outbox struct {
	o         Options
	delivered func(ctx context.Context, ev *nostr.Event) error
	targets   []*target // [0] is this relay
	stop      context.CancelFunc
	running   sync.WaitGroup
}

// New returns an Outbox, which takes events from now on.
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
		o.Observe = func(int, string) {}
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

// Start begins to deliver the events that wait, and forgets those for relays
// that are no longer targets. delivered, if not nil, is called after this relay
// has taken an event; its error is logged and changes nothing, and it may be
// called twice for one event. Call Start once.
func (b *Outbox) Start(ctx context.Context, delivered func(ctx context.Context, ev *nostr.Event) error) error {
	if err := b.Keep(ctx); err != nil {
		return err
	}
	inner, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	b.running.Go(func() { b.Run(inner, delivered) })
	return nil
}

// Keep forgets what waits for relays that are no longer targets.
func (b *Outbox) Keep(ctx context.Context) error {
	if err := b.o.Store.Tell(ctx, store.OutboxKeep{Targets: b.o.Targets}); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// Run delivers the events that wait, and those that come, until ctx ends, and
// returns when nothing of it is under way; delivered is Start's. It may be
// called again after that, and looks then at all that waits: others may have
// delivered, and queued, meanwhile. What others queue while it runs it sees when
// it is roused.
func (b *Outbox) Run(ctx context.Context, delivered func(ctx context.Context, ev *nostr.Event) error) {
	b.delivered = delivered
	var targets sync.WaitGroup
	for _, t := range b.targets {
		t.all.Store(true)
		targets.Go(func() { t.run(ctx) })
	}
	targets.Wait()
}

// SetIdentity has another identity answer the AUTH challenges of further
// relays: connections are made anew, and events that were on their way are sent
// again.
func (b *Outbox) SetIdentity(id client.Identity) {
	for _, t := range b.targets {
		if r, ok := t.to.(*remote); ok {
			r.become(id)
		}
	}
	b.rouse(true)
}

// Close ends deliveries and waits until they have ended. Events that were not
// acknowledged are sent again after the next start.
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

// Publish queues an event durably for the further relays and, if local, for
// this relay, which has not taken it yet. It is not an error if the event waits
// already. If there is no room for further relays, that is only logged.
//
// A crash between the relay's commit and Publish would keep an event from the
// further relays. To rule that out, submit with Targets as Forward and call
// Rouse: then one commit does both.
func (b *Outbox) Publish(ctx context.Context, ev *nostr.Event, local bool) error {
	names := b.o.Targets
	if local {
		names = append([]string{store.OutboxLocal}, names...)
	}
	if len(names) == 0 {
		return nil
	}
	err := b.o.Store.Tell(ctx, store.QueueEvent{Event: wire.AppendEvent(nil, ev), Targets: names})
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

// Withdraw removes an event that is not to be published after all.
func (b *Outbox) Withdraw(ctx context.Context, eventID string) error {
	return b.o.Store.Tell(ctx, store.OutboxWithdraw{EventID: eventID})
}

// Waits reports whether an event of the author in the contract waits for this
// relay: the author's next one has to wait behind it.
func (b *Outbox) Waits(ctx context.Context, contract, author string) (bool, error) {
	return b.o.Store.OutboxWaits(ctx, contract, author)
}

// Targets returns the URLs of the further relays. Callers must not change the
// slice.
func (b *Outbox) Targets() []string { return b.o.Targets }

// Rouse makes the outbox look for events that the relay's own commits have
// queued.
func (b *Outbox) Rouse() { b.rouse(false) }

func (b *Outbox) rouse(all bool) {
	for _, t := range b.targets {
		t.rouse(all)
	}
}

// Drop forgets the events that wait for a further relay, given by its URL, and
// returns how many there were.
func (b *Outbox) Drop(ctx context.Context, url string) (int64, error) {
	n, err := b.o.Store.OutboxForget(ctx, url)
	b.rouse(true)
	return n, err
}

// Lag is how many events wait for a relay, and how long the oldest has waited.
type Lag struct {
	Waiting int64
	Oldest  time.Duration
}

// Lag returns how far behind deliveries are: to this relay, and to the further
// ones in the order of Targets.
func (b *Outbox) Lag(ctx context.Context) ([]Lag, error) {
	now, lag := b.o.Clock(), make([]Lag, len(b.targets))
	err := b.o.Store.OutboxLag(ctx, func(name string, waiting, oldest int64) {
		if i := slices.IndexFunc(b.targets, func(t *target) bool { return t.name == name }); i >= 0 {
			lag[i] = Lag{Waiting: waiting, Oldest: max(0, now.Sub(time.Unix(oldest, 0)))}
		}
	})
	return lag, err
}
