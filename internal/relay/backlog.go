package relay

import (
	"context"
	"sync"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
)

// maxBacklog is how many bytes of committed events may wait for delivery, and
// maxSent how many while shares may send more. Between the two is room for what
// was on its way into the store, and for what the relay itself brings.
const (
	maxBacklog = 64 << 20
	maxSent    = maxBacklog / 2
)

// backlog is committed batches between the store's writer, which never waits,
// and the dispatcher. Who sends faster than can be delivered waits before the
// store, so that all else is delivered meanwhile. What does not fit all the
// same is not delivered: the dispatcher is told that something is missing.
type backlog struct {
	mu      sync.Mutex
	batches [][]store.Committed
	bytes   int            // of these and of the batch that was taken last
	senders map[sender]int // of each that has any, the same
	missing bool
	closed  bool
	more    chan struct{} // wakes the dispatcher
	room    chan struct{} // closed, and made anew, when a batch was delivered
}

func newBacklog() *backlog {
	return &backlog{senders: make(map[sender]int), more: make(chan struct{}, 1), room: make(chan struct{})}
}

// wait waits until one more event of a share may go to the store: what waits of
// it must be no more than what is free, so that each of n that send too much
// gets to have a part in n + 1, and one of which nothing waits is never held
// up. The relay's own work is not either.
func (b *backlog) wait(ctx context.Context, who fairness.Who) error {
	if who == (fairness.Who{}) {
		return nil
	}
	from := senderOf(who)
	for {
		b.mu.Lock()
		has, room := b.senders[from], b.room
		fits := has == 0 || has <= maxSent-b.bytes || b.closed
		b.mu.Unlock()
		if fits {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sender is whom events count for: a share, or a connection where many clients
// have a share together.
type sender struct {
	share string
	conn  uint64
}

func senderOf(who fairness.Who) sender {
	if who.Exempt || who.Share == fairness.Local {
		return sender{who.Share, who.Conn}
	}
	return sender{who.Share, 0}
}

// put queues a batch if there is room; without others there is for any.
func (b *backlog) put(batch []store.Committed) (taken bool) {
	size := sizeOf(batch)
	b.mu.Lock()
	taken = b.bytes == 0 || b.bytes+size <= maxBacklog
	if taken {
		b.batches = append(b.batches, batch)
		b.hold(batch)
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
	b.release(done)
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

// hold counts a batch, release no longer does.
func (b *backlog) hold(batch []store.Committed) {
	for i := range batch {
		n := sizeOf(batch[i : i+1])
		b.bytes += n
		b.senders[senderOf(batch[i].Who)] += n
	}
}

func (b *backlog) release(batch []store.Committed) {
	for i := range batch {
		n, from := sizeOf(batch[i:i+1]), senderOf(batch[i].Who)
		b.bytes -= n
		if b.senders[from] -= n; b.senders[from] == 0 {
			delete(b.senders, from)
		}
	}
	b.signal()
}

// signal has all who wait look again.
func (b *backlog) signal() {
	close(b.room)
	b.room = make(chan struct{})
}

func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	b.signal()
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
