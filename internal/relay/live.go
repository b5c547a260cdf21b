package relay

import (
	"context"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store"
)

// Delivery is one event on its way to live subscriptions. JSON is shared by
// all recipients and must not be changed.
type Delivery struct {
	Event   *nostr.Event
	JSON    []byte
	Seq     int64        // 0 for ephemeral events, which no query can have shown
	Subject gate.Subject // what the second check looks at, made once for all recipients
}

// maxBacklog is how many bytes of committed events may wait for delivery.
const maxBacklog = 64 << 20

// backlog is committed batches between the store's writer, which never waits,
// and the dispatcher. What does not fit is not delivered: the dispatcher is told
// that something is missing.
type backlog struct {
	mu      sync.Mutex
	batches [][]store.Committed
	bytes   int // of these and of the batch that was taken last
	missing bool
	closed  bool
	more    chan struct{} // wakes the dispatcher
}

func newBacklog() *backlog { return &backlog{more: make(chan struct{}, 1)} }

// put queues a batch if there is room; without others there is for any.
func (b *backlog) put(batch []store.Committed) (taken bool) {
	size := sizeOf(batch)
	b.mu.Lock()
	taken = b.bytes == 0 || b.bytes+size <= maxBacklog
	if taken {
		b.batches = append(b.batches, batch)
		b.bytes += size
	} else {
		b.missing = true
	}
	b.mu.Unlock()
	b.wake()
	return taken
}

// take waits for the next batch; done is the one that was taken before. Without
// a batch, missing says that some were not taken, else it is the end.
func (b *backlog) take(done []store.Committed) (batch []store.Committed, missing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= sizeOf(done)
	for len(b.batches) == 0 && !b.missing && !b.closed {
		b.mu.Unlock()
		<-b.more
		b.mu.Lock()
	}
	if len(b.batches) == 0 {
		missing, b.missing = b.missing, false
		return nil, missing
	}
	batch = b.batches[0]
	b.batches[0] = nil
	b.batches = b.batches[1:]
	return batch, false
}

func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.wake()
}

func (b *backlog) wake() {
	select {
	case b.more <- struct{}{}:
	default:
	}
}

// sizeOf is about what a batch holds: an event is there parsed and as JSON.
func sizeOf(batch []store.Committed) (n int) {
	const event = 512
	for i := range batch {
		n += 2*len(batch[i].JSON) + event
	}
	return n
}

// committed runs on the store's writer: it only hands the batch over. If too
// much waits, the events are not delivered live, and all subscriptions are told;
// what must hear of every event does so here.
func (r *Relay) committed(batch []store.Committed) {
	if !r.backlog.put(batch) {
		for i := range batch {
			r.saved(batch[i].Event)
		}
	}
}

// Undelivered is how many committed batches wait for live delivery.
func (r *Relay) Undelivered() int {
	r.backlog.mu.Lock()
	defer r.backlog.mu.Unlock()
	return len(r.backlog.batches)
}

// dispatch owns the order of live delivery: one goroutine, batches as they were
// committed. OnEventSaved hooks run here, after the commit and off the writer;
// they must not block.
func (r *Relay) dispatch() {
	defer close(r.dispatched)
	var batch []store.Committed
	for {
		var missing bool
		batch, missing = r.backlog.take(batch)
		switch {
		case missing:
			r.log.Error("live delivery fell behind the writer: all subscriptions are closed")
			if lost := r.lost.Load(); lost != nil {
				(*lost)()
			}
		case batch == nil:
			return
		default:
			r.handOver(batch)
		}
	}
}

func (r *Relay) handOver(batch []store.Committed) {
	deliveries := make([]Delivery, len(batch))
	for i, c := range batch {
		deliveries[i] = Delivery{Event: c.Event, JSON: c.JSON, Seq: c.Seq, Subject: gate.SubjectOf(c.Class, c.Event)}
		r.saved(c.Event)
	}
	r.deliver(deliveries)
}

// saved runs khatru's OnEventSaved hooks.
func (r *Relay) saved(ev *nostr.Event) {
	for _, hook := range r.Hooks.OnEventSaved {
		hook(context.Background(), ev)
	}
}

func (r *Relay) deliver(batch []Delivery) {
	if sink := r.sink.Load(); sink != nil {
		(*sink)(batch)
	}
}

// OnDelivery sets who takes live events. The function must not block on a
// client; it is called in commit order for stored events and concurrently with
// that for ephemeral ones. When events could not be handed over, because the
// dispatcher was too far behind the writer, lost is called in their place.
func (r *Relay) OnDelivery(sink func([]Delivery), lost func()) {
	r.lost.Store(&lost)
	r.sink.Store(&sink)
}
