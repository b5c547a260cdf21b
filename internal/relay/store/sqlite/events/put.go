package events

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Begin queues one event for the writer and returns without waiting for the
// commit; it blocks while the queue is full. Whose turn it is, is decided by
// share (share.From of ctx): events begun one after the other by the same
// connection are applied in that order and may share a transaction.
//
// ev must have been checked: strict shape, id and signature. It must not be
// changed afterwards. The error is ctx's when it ended before there was room,
// ErrClosed, or that of a malformed event; once an event is queued, its outcome
// comes through the Pending whatever becomes of ctx.
func (s *Store) Begin(ctx context.Context, ev *nostr.Event, o store.PutOptions) (store.Pending, error) {
	var class gate.Class
	if o.Class != nil {
		class = *o.Class
	} else {
		class = s.table.Classify(ev)
	}
	own := &struct {
		apply.Pending
		record.Record
	}{}
	if err := own.Record.Read(ev, class); err != nil {
		return nil, err
	}
	p := &own.Pending
	p.Rec, p.Opts = &own.Record, o
	p.Init(p, own.Cost())
	if s.several != nil {
		return s.several.begin(ctx, p)
	}
	if err := s.db.Push(ctx, &p.Member); err != nil {
		return nil, err
	}
	return p, nil
}

// Put is Begin and Wait: it returns after the event is durable, or after it is
// known that it will not be.
func (s *Store) Put(ctx context.Context, ev *nostr.Event, o store.PutOptions) store.Result {
	p, err := s.Begin(ctx, ev, o)
	if err != nil {
		return store.Result{Outcome: store.Failed, Err: err}
	}
	return p.Wait()
}
