package relay

import (
	"context"

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

// committed runs on the store's writer: it only hands the batch over. When the
// dispatcher lags, the writer waits here, which bounds the backlog.
func (r *Relay) committed(batch []store.Committed) {
	r.batches <- batch
}

// dispatch owns the order of live delivery: one goroutine, batches as they were
// committed. OnEventSaved hooks run here, after the commit and off the writer.
func (r *Relay) dispatch() {
	defer close(r.dispatched)
	for batch := range r.batches {
		deliveries := make([]Delivery, len(batch))
		for i, c := range batch {
			deliveries[i] = Delivery{Event: c.Event, JSON: c.JSON, Seq: c.Seq, Subject: gate.SubjectOf(c.Class, c.Event)}
			for _, hook := range r.Hooks.OnEventSaved {
				hook(context.Background(), c.Event)
			}
		}
		r.deliver(deliveries)
	}
}

func (r *Relay) deliver(batch []Delivery) {
	if sink := r.sink.Load(); sink != nil {
		(*sink)(batch)
	}
}

// OnDelivery sets who takes live events. The function must not block on a
// client; it is called in commit order for stored events and concurrently with
// that for ephemeral ones.
func (r *Relay) OnDelivery(sink func([]Delivery)) { r.sink.Store(&sink) }
