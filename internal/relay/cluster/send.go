package cluster

import (
	"context"
	"fmt"
	"time"
)

// sending is what the node has on its way to the log. Own batches stay here
// until they were read and taken; what is lost on the way is found by the first
// of them, because the counters of all that came behind it have a gap.
type sending struct {
	counter   uint64   // of the last batch
	unread    []*batch // in the order of their counters
	bytes     int      // of these
	afoot     int      // commands in batches, that are not known to be executed or void
	cursor    int      // how many of them were appended since the last turning back
	turning   bool     // a timer runs, and then the cursor goes back to the first
	backoff   time.Duration
	announced bool // Join was taken: who reads on knows of this boot
	met       bool // and enough others know this member (introduce)
}

// batch is a message on its way to the log.
type batch struct {
	counter uint64
	raw     []byte
	list    []*pending
	waiters []*waiter // for this one to be in the log
	appends int       // how often it was appended
	away    bool      // the last append is not answered yet
	failed  bool      // the last append was answered with an error
	number  uint64    // of the message, if the last append was acknowledged
}

const (
	// Beyond so much that was not read, nothing new is appended.
	mostUnread      = 32
	mostUnreadBytes = 16 << 20
	// Of the commands that were appended, beyond so many that are not executed here.
	// What one node has in the log, the clients of all others wait for.
	mostAfoot = 2048

	firstBackoff = 20 * time.Millisecond
	lastBackoff  = time.Second
	markBackoff  = 50 * time.Millisecond
)

// stamp is what the machine's clock shows, 0 while it is not trusted.
func (o *Options) stamp() int64 {
	now := o.Clock()
	if !o.Trusts(now) {
		return 0
	}
	return min(max(now.UnixNano(), 0), latestClock)
}

// batch makes a batch of commands and puts it behind the others.
func (s *sending) batch(o *Options, list []*pending, w *word) {
	s.counter++
	m := message{cluster: o.ClusterID, node: o.NodeID, boot: o.Boot, counter: s.counter, word: w}
	size := envelope
	for _, p := range list {
		size += len(p.raw)
	}
	raw := appendHeader(make([]byte, 0, size), m, len(list))
	for _, p := range list {
		raw = append(raw, p.raw...)
		p.raw = nil
	}
	s.unread = append(s.unread, &batch{counter: s.counter, raw: raw, list: list})
	s.bytes += len(raw)
	s.afoot += len(list)
}

// send appends what is to be appended. Nothing else appends batches, so that
// they enter in the order of their counters.
func (n *Node) send(ctx context.Context) {
	n.signals.give()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.signals:
		}
		for ctx.Err() == nil && n.sendOne() {
		}
	}
}

// sendOne appends one message, and reports false if there is none.
func (n *Node) sendOne() bool {
	clock := n.o.stamp()
	n.mu.Lock()
	if n.err != nil {
		n.mu.Unlock()
		return false
	}
	if !n.turning && n.cursor == len(n.unread) && n.mayBegin() {
		if list := n.collect(min(maxBatch, n.log.MaxMessage()-envelope)); list != nil {
			n.o.Observe.QueueAdd("cluster", -len(list))
			n.batch(&n.o, list, n.seen.saying(clock, false))
		}
	}
	if !n.turning && n.cursor < len(n.unread) {
		b := n.unread[n.cursor]
		n.cursor++
		n.appendBatch(b)
		return true
	}
	if (n.vote || n.met && len(n.waiting) > 0) && !n.marking {
		n.appendMark(clock)
		return true
	}
	n.mu.Unlock()
	return false
}

// mayBegin reports whether another batch may be on its way.
func (s *sending) mayBegin() bool {
	if s.afoot >= mostAfoot {
		return false
	}
	return s.met && len(s.unread) < mostUnread && s.bytes < mostUnreadBytes
}

// appendBatch appends a batch, and unlocks. Only who appends it for the first
// time knows that it enters after now: an answer to a later append could be
// about the first one.
func (n *Node) appendBatch(b *batch) {
	b.appends++
	b.away, b.failed, b.number = true, false, 0
	again, turn, read := b.appends > 1, b.appends, n.seen.number
	if !again && n.met {
		b.waiters, n.waiting = n.waiting, nil
	}
	n.mu.Unlock()
	if again {
		n.o.Observe.SentAgain(1)
	}
	n.append(b.raw, read, func(number uint64, err error) {
		if turn == 1 {
			n.reached(b.waiters, number, nil, err)
			b.waiters = nil
		}
		if b.appends == turn {
			b.away, b.failed, b.number = false, err != nil, number
			n.turnBack()
		}
	})
}

// append appends a message, and calls done under the lock with what came of it. What was
// read here before must have a lower number: else the log went back, and the node ends.
func (n *Node) append(raw []byte, read uint64, done func(number uint64, err error)) {
	began := n.o.Clock()
	n.log.Append(raw, func(number uint64, err error) {
		n.o.Observe.AppendDone(n.o.Clock().Sub(began), err == nil)
		if err == nil && number <= read && !n.o.Faults.IgnoreNumbers {
			n.Halt(fmt.Errorf("%w: message %d was read here, and the log gave number %d after it", ErrWentBack, read, number))
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		done(number, err)
	})
}

// appendMark appends a message that does nothing, for those who wait to know
// where the log ends, or to say what was read here, and unlocks.
func (n *Node) appendMark(clock int64) {
	n.marking = true
	waiters, vote, read := n.waiting, n.vote, n.seen.number
	w := n.seen.saying(clock, n.lives)
	n.waiting, n.vote, n.lives = nil, false, false
	if w != nil && n.ahead.number > w.number {
		w.number, w.hash = n.ahead.number, n.ahead.hash
	}
	n.mu.Unlock()
	mark := appendHeader(nil, message{cluster: n.o.ClusterID, node: n.o.NodeID, boot: n.o.Boot, word: w}, 0)
	n.append(mark, read, func(number uint64, err error) {
		n.reached(waiters, number, nil, err)
		if err != nil {
			n.vote = vote && n.held > 0
			time.AfterFunc(markBackoff, func() {
				n.mu.Lock()
				n.marking = false
				n.mu.Unlock()
				n.signals.give()
			})
			return
		}
		n.marking = false
		n.signals.give()
	})
}

// turnBack begins again with the first batch if nothing that is on its way can
// bring it: its last append failed, or it entered and was void.
func (n *Node) turnBack() {
	if n.turning || n.cursor == 0 || len(n.unread) == 0 || n.err != nil {
		return
	}
	first := n.unread[0]
	if first.away || !first.failed && first.number > n.seen.number {
		return
	}
	n.turning = true
	n.backoff = min(max(2*n.backoff, firstBackoff), lastBackoff)
	time.AfterFunc(n.backoff, func() {
		n.mu.Lock()
		n.turning, n.cursor = false, 0
		n.mu.Unlock()
		n.signals.give()
	})
}

// arrived takes a batch off that was read and taken, nil if it is not the first
// one. What came of it is the reader's now.
func (s *sending) arrived(counter uint64) *batch {
	if len(s.unread) == 0 || s.unread[0].counter != counter {
		return nil
	}
	b := s.unread[0]
	s.unread[0] = nil
	s.unread = s.unread[1:]
	s.cursor = max(0, s.cursor-1)
	s.bytes -= len(b.raw)
	s.backoff, s.announced = 0, true
	for _, p := range b.list {
		p.read = true
	}
	return b
}
