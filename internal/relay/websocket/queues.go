package websocket

import (
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/nips/nip01"
)

// queues counts what waits for the clients of each share.
type queues struct {
	mu     sync.Mutex
	shares map[string]*shareQueue // that have connections
}

// shareQueue is what waits for the clients of one share.
type shareQueue struct {
	name  string
	conns int
	bytes atomic.Int64
}

// enter counts one more connection of a share. Exempt peers, and those that
// cannot be told apart, are each their own.
func (q *queues) enter(who fairness.Who) *shareQueue {
	if who.Exempt || who.Share == fairness.Local {
		return &shareQueue{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.shares[who.Share]
	if s == nil {
		s = &shareQueue{name: who.Share}
		q.shares[who.Share] = s
	}
	s.conns++
	return s
}

// leave counts one less.
func (q *queues) leave(s *shareQueue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.conns--; s.conns == 0 && q.shares[s.name] == s {
		delete(q.shares, s.name)
	}
}

// How long a connection is not read from after an event that was over a rate:
// first, and at most. It is far less than what a rate's burst makes up for.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = time.Second
)

// overRate holds back a connection whose events are over a rate
// (rate-limited:). To refuse one costs almost what it costs to take it, so who
// goes on at once is read more and more slowly; one that is taken ends that.
type overRate struct {
	until atomic.Int64  // not read from before, in Unix nanoseconds
	pause time.Duration // the last one; of effects
}

// answered notes the answer to an event.
func (o *overRate) answered(a relay.Answer, now time.Time) {
	switch {
	case a.OK:
		o.pause = 0
	case !a.Why.Has(nip01.PrefixRateLimited):
	case now.UnixNano() >= o.until.Load():
		o.pause = min(max(2*o.pause, firstPause), mostPause)
		o.until.Store(now.Add(o.pause).UnixNano())
	}
}

// wait returns how long the connection is not to be read from.
func (o *overRate) wait(now time.Time) time.Duration {
	return time.Duration(max(o.until.Load()-now.UnixNano(), 0))
}
