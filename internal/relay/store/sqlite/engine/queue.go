package engine

import (
	"context"
	"slices"
	"sync"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
)

// Push queues a member for the writer and returns without waiting for the
// commit; it blocks while the queue is full. Whose turn it is, is decided by
// share (fairness.From of ctx): what the same connection pushed one after the other
// is applied in that order and may share a transaction.
//
// The error is ctx's when it ended before there was room, ErrClosed after Close,
// ErrReadOnly; once a member is queued, its outcome comes through Wait whatever
// becomes of ctx.
func (db *DB) Push(ctx context.Context, m *Member) error { return db.queue.push(ctx, m) }

// Do runs work on the writer's goroutine, outside of a transaction, when it is
// its turn, and waits for it.
func (db *DB) Do(ctx context.Context, work func() error) error {
	m := &Member{alone: work, done: make(chan struct{})}
	if err := db.queue.push(ctx, m); err != nil {
		return err
	}
	return m.Wait().Err
}

// DoLater is Do without waiting: done is called with what work returned, on the
// writer's goroutine. The error is that of Push.
func (db *DB) DoLater(ctx context.Context, work func() error, done func(error)) error {
	m := &Member{alone: work, done: make(chan struct{})}
	m.Tell(func(r store.Result) { done(r.Err) })
	return db.queue.push(ctx, m)
}

// Apart is Do in a transaction of its own.
func (db *DB) Apart(ctx context.Context, work func(w *Writer) error) error {
	return db.Do(ctx, func() error {
		_, err := db.writer.Step(func() (bool, error) { return false, work(db.writer) })
		return err
	})
}

// QueueLen reports how many members wait for the writer.
func (db *DB) QueueLen() int { return db.queue.len() }

// queue holds what waits for the writer, and gives it out fairly: by share,
// then by connection, and what one connection sent in its order. It is bounded
// in members and in cost; what a share may have waiting is less
// the more others have.
type queue struct {
	mu       sync.Mutex
	items    fairness.Queue[*Member]
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

// push takes m in as soon as there is room.
func (q *queue) push(ctx context.Context, m *Member) error {
	m.who = fairness.From(ctx)
	for {
		q.mu.Lock()
		if q.closed != nil {
			q.mu.Unlock()
			return q.closed
		}
		if q.fits(m) {
			q.items.Push(m.who, m, float64(m.cost))
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

// fits reports whether there is room for m. A connection may always have one
// waiting, however full the queue is: it would be held in memory all the
// same.
func (q *queue) fits(m *Member) bool {
	if !q.items.Has(m.who) {
		return true
	}
	n, bytes := q.items.Of(m.who.Share)
	otherN, otherBytes := q.items.Len()-n, q.items.Cost()-bytes
	return n+1 <= q.maxItems-otherN/2 && bytes+float64(m.cost) <= float64(q.maxBytes)-otherBytes/2
}

// take removes up to n items with up to size bytes, at least one if any waits.
// Commands other than events come alone.
func (q *queue) take(n, size int) []*Member {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.items.Len() == 0 {
		return nil
	}
	var out []*Member
	bytes := 0
	for len(out) < n {
		m, _, ok := q.items.Next()
		if !ok || len(out) > 0 && (m.alone != nil || bytes+m.cost > size) {
			break
		}
		if len(out) == 0 {
			size = min(size, q.batchBytes(m))
			out = make([]*Member, 0, min(n, q.items.Len()))
		}
		q.items.Pop()
		bytes += m.cost
		if out = append(out, m); m.alone != nil {
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
func (q *queue) putBack(list []*Member) {
	if len(list) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range slices.Backward(list) {
		q.items.PutBack(m.who, m, float64(m.cost))
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

// batchBytes is what a transaction that begins with m may cost.
func (q *queue) batchBytes(m *Member) int {
	switch {
	case q.items.Shares() > 1:
		return sharedBatchBytes
	case m.who.Exempt || m.who == (fairness.Who{}):
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

// done reports whether the queue is closed and empty.
func (q *queue) done() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed != nil && q.items.Len() == 0
}
