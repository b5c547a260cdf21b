package load

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"time"

	"engramd/internal/protocol/wire"
)

// ledger knows the events that are going to be published, when each was, and
// checks what is delivered of them. It is shared by all listeners.
type ledger struct {
	start  time.Time      // of the monotonic clock of this ledger
	place  map[string]int // id → place
	events [][]byte       // as wire.AppendEvent writes them
	sent   []atomic.Int64 // time since start + 1, 0 while not published
	// untimed says that nobody tells when events are published.
	untimed bool
	// first holds each event's JSON as the relay first delivered it, once it was
	// found right: every further delivery is compared with it byte by byte, so
	// that checking costs next to nothing while others wait for the CPU.
	first []atomic.Pointer[[]byte]

	delivered, goal atomic.Int64
	reached         chan struct{} // gets a value when delivered reaches goal
}

// newLedger is of events as wire.AppendEvent writes them.
func newLedger(events [][]byte) *ledger {
	l := &ledger{
		start: time.Now(), place: make(map[string]int, len(events)), events: events,
		sent: make([]atomic.Int64, len(events)), first: make([]atomic.Pointer[[]byte], len(events)),
		reached: make(chan struct{}, 1),
	}
	for i, event := range events {
		l.place[string(eventID(event))] = i
	}
	return l
}

// publishing notes that event i goes out now.
func (l *ledger) publishing(i int) { l.sent[i].Store(int64(time.Since(l.start)) + 1) }

// expect sets how many deliveries there will be since the beginning. It must be
// called before the event is published that makes the last of them.
func (l *ledger) expect(deliveries int64) { l.goal.Store(deliveries) }

// took returns how long after its publication event i is delivered at a time;
// less than 0 if it has not been published.
func (l *ledger) took(i int, at time.Time) time.Duration {
	if l.untimed {
		return 0
	}
	sent := l.sent[i].Load()
	if sent == 0 {
		return -1
	}
	return at.Sub(l.start) - time.Duration(sent-1)
}

// right checks that the JSON is event i, whatever the order of its members.
func (l *ledger) right(i int, text []byte) error {
	if known := l.first[i].Load(); known != nil && bytes.Equal(*known, text) {
		return nil
	}
	ev, err := wire.ParseEvent(text)
	if err != nil {
		return fmt.Errorf("%w: a delivered event: %w", ErrWrong, err)
	}
	if !bytes.Equal(wire.AppendEvent(nil, ev), l.events[i]) {
		return fmt.Errorf("%w: a delivered event is not the one that was published", ErrWrong)
	}
	kept := bytes.Clone(text)
	l.first[i].CompareAndSwap(nil, &kept)
	return nil
}

// count notes one right delivery.
func (l *ledger) count() {
	if l.delivered.Add(1) == l.goal.Load() {
		l.reached <- struct{}{} // one value for each goal, and the last was taken
	}
}

// receipts are what one subscription that matches every event has got.
type receipts struct {
	ledger    *ledger
	seen      []bool
	samples   []time.Duration // by place, publication to delivery
	last      int             // place of the latest
	unordered int             // deliveries of an event published before one that was there already
}

func newReceipts(l *ledger) *receipts {
	return &receipts{ledger: l, seen: make([]bool, len(l.events)), samples: make([]time.Duration, len(l.events)), last: -1}
}

// take checks one delivery and notes how long it took.
func (r *receipts) take(m Message, at time.Time) error {
	i, known := r.ledger.place[string(m.ID)]
	if !known {
		return fmt.Errorf("%w: an event was delivered that was not published", ErrWrong)
	}
	if r.seen[i] {
		return fmt.Errorf("%w: event %d was delivered twice to one subscription", ErrWrong, i)
	}
	took := r.ledger.took(i, at)
	if took < 0 {
		return fmt.Errorf("%w: event %d was delivered before it was published", ErrWrong, i)
	}
	if err := r.ledger.right(i, m.Event); err != nil {
		return err
	}
	r.seen[i], r.samples[i] = true, took
	if i < r.last {
		r.unordered++
	}
	r.last = max(r.last, i)
	r.ledger.count()
	return nil
}
