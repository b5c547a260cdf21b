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
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/relay"
	"engramd/internal/store"
)

// Store is where events wait; *store.Store is one.
type Store interface {
	QueueEvent(ctx context.Context, ev *nostr.Event, targets []string) error
	Outbox(ctx context.Context, target string, after int64, limit int) ([]store.OutboxItem, error)
	OutboxDone(ctx context.Context, target string, numbers []int64) error
	OutboxKeep(ctx context.Context, targets []string) error
	OutboxRefused(ctx context.Context, target string, ev *nostr.Event, reason string, final bool) error
	OutboxWaits(ctx context.Context, contract, author string) (bool, error)
	OutboxWithdraw(ctx context.Context, eventID string) error
	OutboxLag(ctx context.Context, fn func(target string, waiting, oldest int64)) error
}

// Submitter is this relay; *relay.Relay is one.
type Submitter interface {
	Submit(ctx context.Context, ev *nostr.Event) relay.Answer
}

// Observer counts; *metrics.Metrics is one.
type Observer interface {
	// OutboxTried reports one attempt to deliver an event, to this relay or to a further one: "delivered", "known" (it
	// had it), "superseded" (it has a newer one and takes no older), "withdrawn", "abandoned", "refused" or "failed".
	OutboxTried(local bool, outcome string)
}

// Options are what an Outbox is made of. Store and Relay are required.
type Options struct {
	Store   Store
	Relay   Submitter
	Targets []string // ws:// and wss:// URLs of further relays
	// Secret answers the AUTH challenges of further relays: 64 hex digits. "" is a key of this run.
	Secret  string
	Timeout time.Duration                        // for one event at one relay; 0 is 15 s
	Clock   func() time.Time                     // nil is time.Now
	After   func(time.Duration) <-chan time.Time // nil is time.After
	Log     *slog.Logger                         // nil discards
	Observe Observer                             // nil counts nothing
}

// Outbox delivers. Make one with New, begin with Start, and end it with Close before the store is closed.
type Outbox struct {
	o         Options
	delivered func(ctx context.Context, ev *nostr.Event) error
	targets   []*target // [0] is this relay
	pubkey    string
	stop      context.CancelFunc
	running   sync.WaitGroup
}

// nobody observes nothing.
type nobody struct{}

func (nobody) OutboxTried(bool, string) {}

// New makes an outbox, which takes events from now on. The error is about Options.Secret.
func New(o Options) (*Outbox, error) {
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
	id, err := identity(o.Secret)
	if err != nil {
		return nil, fmt.Errorf("key of the outbox: %w", err)
	}
	o.Secret = ""
	b := &Outbox{o: o, pubkey: id.PubKey(), stop: func() {}}
	b.targets = append(b.targets, newTarget(b, store.OutboxLocal, local{o.Relay}))
	for _, url := range o.Targets {
		b.targets = append(b.targets, newTarget(b, url, newRemote(id, url, o)))
	}
	return b, nil
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

func identity(secret string) (client.Identity, error) {
	if secret != "" {
		return client.NewIdentity(secret)
	}
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return client.Identity{}, err
	}
	return client.NewIdentity(hex.EncodeToString(raw))
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

// PubKey is the key that answers AUTH challenges of further relays, so that their operators can let it in.
func (b *Outbox) PubKey() string { return b.pubkey }

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

// Lag says how many events wait and for how long the oldest has, for this relay and for all further ones together.
type Lag struct {
	Local, Remote             int64
	OldestLocal, OldestRemote time.Duration
}

// Lag reads how far behind deliveries are.
func (b *Outbox) Lag(ctx context.Context) (l Lag, err error) {
	now := b.o.Clock()
	err = b.o.Store.OutboxLag(ctx, func(target string, waiting, oldest int64) {
		age := max(0, now.Sub(time.Unix(oldest, 0)))
		if target == store.OutboxLocal {
			l.Local, l.OldestLocal = waiting, age
			return
		}
		l.Remote += waiting
		l.OldestRemote = max(l.OldestRemote, age)
	})
	return l, err
}
