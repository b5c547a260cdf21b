package websocket

import (
	"sync"
	"sync/atomic"
)

// frame is one message to a client. An event is head, body and a closing
// bracket: the body is shared by all who are sent the event.
type frame struct {
	op   byte // of RFC 6455: 1 text, 8 close
	head []byte
	body []byte
}

// frameOverhead is what a queued frame counts beside its bytes.
const frameOverhead = 64

func (f *frame) size() int { return len(f.head) + len(f.body) + frameOverhead }

// outbox is the bounded queue of frames between those who have something for a
// client and its writer. A frame counts until the kernel has taken it.
type outbox struct {
	mu      sync.Mutex
	queue   []frame
	bytes   int // queued, and taken by the writer but not yet by the kernel
	count   int
	kept    int // live events that wait for a subscription's stored ones
	keptN   int
	ping    bool
	pong    []byte // answer to the last ping, nil if none is due
	running bool   // somebody is the writer
	paused  bool   // effects waits for low
	closing bool   // nothing is added any more
	ended   bool   // done is closed

	dropped atomic.Bool   // the writer must forget what it has taken
	low     chan struct{} // wakes effects: the queue is below its mark
	done    chan struct{} // closed when nothing will be written any more
	total   *atomic.Int64 // bytes and kept of all outboxes
	share   *shareQueue   // the same of those of the share
}

func (b *outbox) init(total *atomic.Int64, share *shareQueue) {
	b.low = make(chan struct{}, 1)
	b.done = make(chan struct{})
	b.total, b.share = total, share
}

// holds counts bytes more, or less, that are held. The lock is held.
func (b *outbox) holds(bytes int) {
	b.total.Add(int64(bytes))
	b.share.bytes.Add(int64(bytes))
}

// move counts what is held, and will be, to another share, and returns the
// former.
func (b *outbox) move(to *shareQueue) (from *shareQueue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := int64(b.bytes + b.kept)
	from, b.share = b.share, to
	from.bytes.Add(-held)
	to.bytes.Add(held)
	return from
}

// push queues an answer. It never fails: effects makes no answers while the
// queue is above its mark. Whoever pushes calls ready before it waits for
// anything.
func (b *outbox) push(f frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closing {
		b.add(f)
	}
}

// ready reports whether the writer must be started for what was pushed.
func (b *outbox) ready() (start bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0 && b.start()
}

// pushLive queues an event unless it is one too many.
func (b *outbox) pushLive(f frame, lim *Limits) (fits, start bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closing:
		return true, false
	case b.full(f.size(), lim):
		return false, false
	}
	b.add(f)
	return true, b.start()
}

// keep counts a live event that waits outside the queue; release gives it back.
func (b *outbox) keep(size int, lim *Limits) (fits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full(size, lim) {
		return false
	}
	b.kept += size
	b.keptN++
	b.holds(size)
	return true
}

func (b *outbox) release(size, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept -= size
	b.keptN -= n
	b.holds(-size)
}

// full reports whether size more bytes of live events are too many. One event
// always fits into an empty queue.
func (b *outbox) full(size int, lim *Limits) bool {
	held := b.bytes + b.kept
	if held == 0 {
		return false
	}
	return held+size > lim.QueueBytes || b.count+b.keptN >= lim.QueueFrames ||
		held > lim.QueueMark && (b.total.Load() > lim.QueueTotal || b.share.bytes.Load() > lim.QueueShare)
}

func (b *outbox) add(f frame) {
	b.queue = append(b.queue, f)
	b.bytes += f.size()
	b.count++
	b.holds(f.size())
}

// start reports whether the writer must be started; whoever asks starts it.
func (b *outbox) start() bool {
	start := !b.running && !b.ended
	b.running = true
	return start
}

// control asks for a ping, or for the pong that answers payload. Only the last
// of several pings is answered, as RFC 6455 allows.
func (b *outbox) control(ping bool, pong []byte) (start bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return false
	}
	b.ping = b.ping || ping
	if pong != nil {
		b.pong = pong
	}
	return b.start()
}

// above reports whether more is queued than mark; if so, low will tell when it
// no longer is.
func (b *outbox) above(mark int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paused = b.bytes > mark
	return b.paused
}

// finish lets nothing more in and has the writer end after what is queued, with
// a close frame unless code is 0.
func (b *outbox) finish(code int, text string) (start bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return false
	}
	b.closing = true
	if code != 0 {
		b.add(closeFrame(code, text))
	}
	return b.start()
}

// cut is finish with everything that waits thrown away, and a last notice in
// its place.
func (b *outbox) cut(notice []byte, code int, text string) (first, start bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || b.dropped.Load() {
		return false, false
	}
	b.dropped.Store(true)
	b.drop()
	b.closing = true
	if notice != nil {
		b.add(frame{op: opText, head: notice})
	}
	b.add(closeFrame(code, text))
	return true, b.start()
}

func (b *outbox) drop() {
	for i := range b.queue {
		b.bytes -= b.queue[i].size()
		b.holds(-b.queue[i].size())
	}
	b.count -= len(b.queue)
	b.queue = nil
}

// abandon throws everything away: the socket is gone. A writer that runs finds
// out by itself.
func (b *outbox) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closing = true
	b.drop()
	if !b.running {
		b.end()
	}
}

// over is called by the writer when it will not run again.
func (b *outbox) over() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closing = true
	b.drop()
	b.end()
}

func (b *outbox) end() {
	if !b.ended {
		b.ended = true
		close(b.done)
	}
}

// batch is what the writer takes at once.
type batch struct {
	frames []frame
	ping   bool
	pong   []byte
	last   bool // it was queued by cut, and is sent
}

// take hands the writer all that is queued, in exchange for a slice that it has
// emptied. If there is nothing, it gets that back, and rests, or is over if
// nothing will come.
func (b *outbox) take(spare []frame) (next batch, rests, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next = batch{b.queue, b.ping, b.pong, b.dropped.Load()}
	b.queue, b.ping, b.pong = spare, false, nil
	if len(next.frames) > 0 || next.ping || next.pong != nil {
		return next, false, false
	}
	next.frames, b.queue = spare, nil // an idle connection holds nothing
	if !b.closing {
		b.running = false
	}
	return next, true, b.closing
}

// written takes off what the kernel has taken, or what is thrown away.
func (b *outbox) written(bytes, count, mark int) {
	b.mu.Lock()
	b.bytes -= bytes
	b.count -= count
	b.holds(-bytes)
	low := b.paused && b.bytes <= mark
	b.mu.Unlock()
	if low {
		wake(b.low)
	}
}
