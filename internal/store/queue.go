package store

import (
	"context"
	"sync"

	"github.com/nbd-wtf/go-nostr"
)

// queue holds what waits for the writer: bounded in events and in cost (record.cost), first in first out.
type queue struct {
	mu       sync.Mutex
	items    []*Pending
	bytes    int
	maxItems int
	maxBytes int
	closed   error         // why nothing more is taken in, nil while open
	room     chan struct{} // closed, and made anew, when something was taken
	wake     chan struct{} // holds one token while items wait
	observe  Observer
}

func newQueue(maxItems, maxBytes int, observe Observer) *queue {
	return &queue{
		maxItems: maxItems, maxBytes: maxBytes, observe: observe,
		room: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// push appends p as soon as there is room. One item always fits an empty queue.
func (q *queue) push(ctx context.Context, p *Pending) error {
	for {
		q.mu.Lock()
		if q.closed != nil {
			q.mu.Unlock()
			return q.closed
		}
		if len(q.items) == 0 || len(q.items) < q.maxItems && q.bytes+p.size <= q.maxBytes {
			q.items = append(q.items, p)
			q.bytes += p.size
			q.mu.Unlock()
			q.observe.QueueAdd("store_writer", 1)
			q.signal()
			return nil
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take removes up to n items with up to size bytes, at least one if any waits. The store's own work comes alone.
func (q *queue) take(n, size int) []*Pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil
	}
	k, bytes := 0, 0
	for k < len(q.items) && k < n && (k == 0 || bytes+q.items[k].size <= size) {
		if q.items[k].job != nil && k > 0 {
			break
		}
		bytes += q.items[k].size
		k++
		if q.items[k-1].job != nil {
			break
		}
	}
	out := q.items[:k:k]
	q.items = q.items[k:]
	q.bytes -= bytes
	if len(q.items) > 0 {
		q.signal()
	}
	close(q.room)
	q.room = make(chan struct{})
	q.observe.QueueAdd("store_writer", -k)
	return out
}

// len reports how many items wait.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}

// close refuses further items with an error, the first one given; those that wait are still taken.
func (q *queue) close(why error) {
	q.mu.Lock()
	if q.closed == nil {
		q.closed = why
	}
	close(q.room)
	q.room = make(chan struct{})
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Begin queues one event for the writer and returns without waiting for the commit; it blocks while the queue is full.
// Events begun one after the other are applied in that order and may share a transaction.
//
// ev must have been checked: strict shape, id and signature. It must not be changed afterwards. The error is ctx's when
// it ended before there was room, ErrClosed, or that of a malformed event; once an event is queued, its outcome comes
// through the Pending whatever becomes of ctx.
func (s *Store) Begin(ctx context.Context, ev *nostr.Event, o PutOptions) (*Pending, error) {
	rec, err := newRecord(ev, s.table.Load().Classify(ev))
	if err != nil {
		return nil, err
	}
	p := &Pending{rec: rec, opts: o, size: rec.cost(), done: make(chan struct{})}
	if err := s.queue.push(ctx, p); err != nil {
		return nil, err
	}
	return p, nil
}

// Put is Begin and Wait: it returns after the event is durable, or after it is known that it will not be.
func (s *Store) Put(ctx context.Context, ev *nostr.Event, o PutOptions) Result {
	p, err := s.Begin(ctx, ev, o)
	if err != nil {
		return Result{Outcome: Failed, Err: err}
	}
	return p.Wait()
}

// do runs the store's own work on the writer, in a transaction of its own, and waits for it.
func (s *Store) do(ctx context.Context, job func(*writer) error) error {
	p := &Pending{job: job, done: make(chan struct{})}
	if err := s.queue.push(ctx, p); err != nil {
		return err
	}
	return p.Wait().Err
}

// QueueLen reports how many events wait for the writer.
func (s *Store) QueueLen() int { return s.queue.len() }

// done reports whether the queue is closed and empty.
func (q *queue) done() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed != nil && len(q.items) == 0
}
