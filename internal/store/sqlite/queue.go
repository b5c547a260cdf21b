package sqlite

import (
	"context"
	"slices"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/share"
	"engramd/internal/store"
)

// queue holds what waits for the writer, and gives it out fairly: by share,
// then by connection, and what one connection sent in its order. It is bounded
// in events and in cost (record.cost); what a share may have waiting is less
// the more others have.
type queue struct {
	mu       sync.Mutex
	items    share.Queue[*Pending]
	maxItems int // of one share while no other has any
	maxBytes int
	closed   error         // why nothing more is taken in, nil while open
	room     chan struct{} // closed, and made anew, when something was taken
	wake     chan struct{} // holds one token while items wait
	observe  store.Observer
}

func newQueue(maxItems, maxBytes int, observe store.Observer) *queue {
	return &queue{
		maxItems: maxItems, maxBytes: maxBytes, observe: observe,
		room: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// push takes p in as soon as there is room.
func (q *queue) push(ctx context.Context, p *Pending) error {
	p.who = share.From(ctx)
	for {
		q.mu.Lock()
		if q.closed != nil {
			q.mu.Unlock()
			return q.closed
		}
		if q.fits(p) {
			q.items.Push(p.who, p, float64(p.size))
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

// fits reports whether there is room for p. A connection may always have one
// event waiting, however full the queue is: it would be held in memory all the
// same.
func (q *queue) fits(p *Pending) bool {
	if !q.items.Has(p.who) {
		return true
	}
	n, bytes := q.items.Of(p.who.Share)
	otherN, otherBytes := q.items.Len()-n, q.items.Cost()-bytes
	return n+1 <= q.maxItems-otherN/2 && bytes+float64(p.size) <= float64(q.maxBytes)-otherBytes/2
}

// take removes up to n items with up to size bytes, at least one if any waits.
// Commands other than events come alone.
func (q *queue) take(n, size int) []*Pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.items.Len() == 0 {
		return nil
	}
	var out []*Pending
	bytes := 0
	for len(out) < n {
		p, _, ok := q.items.Next()
		if !ok || len(out) > 0 && (p.rec == nil || bytes+p.size > size) {
			break
		}
		if len(out) == 0 {
			size = min(size, q.batchBytes(p))
			out = make([]*Pending, 0, min(n, q.items.Len()))
		}
		q.items.Pop()
		bytes += p.size
		if out = append(out, p); p.rec == nil {
			break
		}
	}
	if q.items.Len() > 0 {
		q.signal()
	}
	close(q.room)
	q.room = make(chan struct{})
	q.observe.QueueAdd("store_writer", -len(out))
	return out
}

// putBack puts items that were taken, and not applied, back in front of the
// others of their connections.
func (q *queue) putBack(list []*Pending) {
	if len(list) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range slices.Backward(list) {
		q.items.PutBack(p.who, p, float64(p.size))
	}
	q.observe.QueueAdd("store_writer", len(list))
	q.signal()
}

// wants reports whether somebody of another share than one waits.
func (q *queue) wants(share string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, _ := q.items.Of(share)
	return q.items.Len() > n
}

// What a transaction may cost while others wait, so that whoever comes next
// waits for some tens of milliseconds, and of clients alone; imports and a
// relay of one's own have maxBatchBytes.
const (
	sharedBatchBytes = 512 << 10
	clientBatchBytes = 1 << 20
)

// batchBytes is what a transaction that begins with p may cost.
func (q *queue) batchBytes(p *Pending) int {
	switch {
	case q.items.Shares() > 1:
		return sharedBatchBytes
	case p.who.Exempt || p.who == (share.Who{}):
		return maxBatchBytes
	}
	return clientBatchBytes
}

// len reports how many items wait.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items.Len()
}

// close refuses further items with an error, the first one given; those that
// wait are still taken.
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
	own := &struct {
		Pending
		record
	}{}
	if err := own.record.read(ev, s.table.Load().Classify(ev)); err != nil {
		return nil, err
	}
	p := &own.Pending
	p.rec, p.opts, p.size, p.done = &own.record, o, own.cost(), make(chan struct{})
	if err := s.queue.push(ctx, p); err != nil {
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

// QueueLen reports how many events wait for the writer.
func (s *Store) QueueLen() int { return s.queue.len() }

// done reports whether the queue is closed and empty.
func (q *queue) done() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed != nil && q.items.Len() == 0
}
