package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/fiatjaf/khatru"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
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

// live delivers events to subscriptions, in the order in which they were
// committed.
type live struct {
	hooks      *khatru.Relay
	log        *slog.Logger
	backlog    *backlog
	sink       atomic.Pointer[func([]Delivery)]
	lost       atomic.Pointer[func()]
	dispatched chan struct{}
}

// Committed is the store's OnCommit. It runs on the store's writer and only
// hands the batch over. If too much waits, the events are not delivered live,
// and all subscriptions are told; what must hear of every event does so here.
func (l *live) Committed(batch []store.Committed) {
	if !l.backlog.put(batch) {
		for i := range batch {
			l.saved(batch[i].Event)
		}
	}
}

// Close ends live dispatch after the last committed batch. The store must be
// closed before: nothing may be committed any more.
func (l *live) Close() {
	l.backlog.close()
	<-l.dispatched
}

// Undelivered returns how many committed batches wait for live delivery.
func (l *live) Undelivered() int {
	l.backlog.mu.Lock()
	defer l.backlog.mu.Unlock()
	return len(l.backlog.batches)
}

// dispatch owns the order of live delivery: one goroutine, batches as they were
// committed. OnEventSaved hooks run here, after the commit and off the writer;
// they must not block.
func (l *live) dispatch() {
	defer close(l.dispatched)
	var batch []store.Committed
	for {
		var missing bool
		batch, missing = l.backlog.take(batch)
		switch {
		case missing:
			l.log.Error("live delivery fell behind the writer: all subscriptions are closed")
			if lost := l.lost.Load(); lost != nil {
				(*lost)()
			}
		case batch == nil:
			return
		default:
			l.handOver(batch)
		}
	}
}

func (l *live) handOver(batch []store.Committed) {
	deliveries := make([]Delivery, len(batch))
	for i, c := range batch {
		deliveries[i] = Delivery{Event: c.Event, JSON: c.JSON, Seq: c.Seq, Subject: gate.SubjectOf(c.Class, c.Event)}
		l.saved(c.Event)
	}
	l.deliver(deliveries)
}

// saved runs khatru's OnEventSaved hooks.
func (l *live) saved(ev *nostr.Event) {
	for _, hook := range l.hooks.OnEventSaved {
		hook(context.Background(), ev)
	}
}

func (l *live) deliver(batch []Delivery) {
	if sink := l.sink.Load(); sink != nil {
		(*sink)(batch)
	}
}

// OnDelivery sets who takes live events. The function must not block on a
// client; it is called in commit order for stored events and concurrently with
// that for ephemeral ones. When events could not be handed over, because the
// dispatcher was too far behind the writer, lost is called in their place.
func (l *live) OnDelivery(sink func([]Delivery), lost func()) {
	l.lost.Store(&lost)
	l.sink.Store(&sink)
}

// passOn delivers an ephemeral event that was taken here to this relay's
// subscriptions, and hands it over to the other nodes, if there are any.
func (r *Relay) passOn(class gate.Class, ev *nostr.Event) {
	json := wire.AppendEvent(nil, ev)
	r.deliver([]Delivery{{Event: ev, JSON: json, Subject: gate.SubjectOf(class, ev)}})
	if r.cfg.Ephemeral != nil {
		r.cfg.Ephemeral(ev, json)
	}
}

// DeliverEphemeral delivers an ephemeral event that another node took to this
// relay's subscriptions. Nothing that the other node says of it is believed: id
// and signature are checked, and who may see it is decided here, by the table in
// force. What does not hold is dropped. The node that took it has asked the
// policy, and nothing is handed on a second time.
func (r *Relay) DeliverEphemeral(json []byte) {
	ev, err := wire.ParseEvent(json)
	if err == nil {
		err = wire.Verify(ev)
	}
	if err != nil || !nostr.IsEphemeralKind(ev.Kind) {
		r.cfg.Log.Debug("another node handed over what is no ephemeral event")
		return
	}
	class := r.table.Load().Classify(ev)
	r.deliver([]Delivery{{Event: ev, JSON: wire.AppendEvent(nil, ev), Subject: gate.SubjectOf(class, ev)}})
}

// ErrBehind means that it is not known whether this node has executed
// everything that was acknowledged: nothing is read for a client then, because
// an old answer would be taken for a current one.
var ErrBehind = errors.New("it is not known whether this node has everything that was acknowledged")

// Latest returns when everything is here that was acknowledged anywhere before
// the call (Config.Latest). Authorize, History and Past call it; what is read
// on another way than through them has to.
func (r *Relay) Latest(ctx context.Context) error {
	if r.cfg.Latest == nil {
		return nil
	}
	err := r.cfg.Latest(ctx)
	if err == nil {
		return nil
	}
	if gone := context.Cause(ctx); gone != nil {
		return gone
	}
	return fmt.Errorf("%w: %w", ErrBehind, err)
}
