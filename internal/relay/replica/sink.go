package replica

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// inFlight is how many events may wait for the store.
const inFlight = 256

// sink stores what comes, in the order in which it comes, and counts what
// becomes of it. Several goroutines may put.
type sink struct {
	ctx   context.Context
	o     *Options
	seen  *seen
	count func(what string, why *nip01.Refusal)

	putting sync.Mutex
	begun   chan put
	done    chan struct{}

	mu  sync.Mutex
	err error // the store failed
}

// put is an event on its way, or one who waits for those before him.
type put struct {
	event   *nostr.Event
	id      [32]byte
	past    bool
	pending store.Pending
	waiter  chan struct{}
}

func newSink(ctx context.Context, o *Options, s *seen, count func(string, *nip01.Refusal)) *sink {
	k := &sink{ctx: ctx, o: o, seen: s, count: count, begun: make(chan put, inFlight), done: make(chan struct{})}
	go k.collect()
	return k
}

// put gives an event to the store. The error is the store's, also that of an
// event before.
func (k *sink) put(ev *nostr.Event, past bool) error {
	if err := k.failed(); err != nil {
		return err
	}
	p := put{event: ev, past: past}
	if n, err := hex.Decode(p.id[:], []byte(ev.ID)); err != nil || n != 32 {
		return fmt.Errorf("an id is no id: %w", err)
	}
	// What is remembered was looked at as a head; that it is superseded is news.
	if nostr.IsEphemeralKind(ev.Kind) || !past && k.seen.has(p.id) {
		return nil // passed on, and not stored; or looked at before
	}
	if reject, message := k.o.Judge(k.ctx, ev); reject {
		k.refused(p, nip01.Parse(message))
		return nil
	}
	k.putting.Lock()
	defer k.putting.Unlock()
	var err error
	if p.pending, err = k.o.Store.Begin(k.ctx, ev, store.PutOptions{Replica: true, Past: past}); err != nil {
		return k.fail(err)
	}
	k.begun <- p // collect takes until it is closed
	return nil
}

// flush waits until all that was put is stored.
func (k *sink) flush() error {
	waiter := make(chan struct{})
	k.putting.Lock()
	k.begun <- put{waiter: waiter}
	k.putting.Unlock()
	<-waiter
	return k.failed()
}

// close waits for what is under way. Nothing may be put any more.
func (k *sink) close() {
	close(k.begun)
	<-k.done
}

func (k *sink) collect() {
	defer close(k.done)
	for p := range k.begun {
		if p.waiter != nil {
			close(p.waiter)
			continue
		}
		k.settle(p, p.pending.Wait())
	}
}

// settle counts what became of an event, and remembers it if a reconciliation
// would name it as missing, and it would never become a head here.
func (k *sink) settle(p put, r store.Result) {
	switch r.Outcome {
	case store.Failed:
		_ = k.fail(r.Err)
		return
	case store.Refused:
		k.refused(p, r.Why)
		return
	case store.Deleted:
		k.count(countDeleted, r.Why)
	case store.Duplicate, store.Stale:
		k.count(countKnown, nil)
	default:
		k.count(countTaken, nil)
	}
	// One that is merely older is looked at again: what is newer may be deleted
	// here, and of open kinds nothing says then that there ever was anything.
	if r.Seq == 0 && !p.past && r.Outcome != store.Stale {
		k.seen.note(p.id, p.event)
	}
}

func (k *sink) refused(p put, why *nip01.Refusal) {
	if why.Has(nip01.PrefixError) {
		_ = k.fail(why) // it could not be judged; that is not its fault
		return
	}
	k.count(countRefused, why)
	k.seen.note(p.id, p.event)
}

func (k *sink) fail(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = fmt.Errorf("%w: %w", errStore, err)
	}
	return k.err
}

func (k *sink) failed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
