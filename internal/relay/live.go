package relay

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
)

// Delivery is one event on its way to live subscriptions. JSON is shared by
// all recipients and must not be changed.
type Delivery struct {
	Event   *nostr.Event
	JSON    []byte
	Seq     int64        // 0 for ephemeral events, which no query can have shown
	Subject gate.Subject // what the second check looks at, made once for all recipients
}

// committed runs on the store's writer: it only hands the batch over. If too
// much waits, the events are not delivered live, and all subscriptions are
// told; what must hear of every event does so here.
func (r *Relay) committed(batch []store.Committed) {
	if !r.backlog.put(batch) {
		for i := range batch {
			r.saved(batch[i].Event)
		}
	}
}

// Undelivered returns how many committed batches wait for live delivery.
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
