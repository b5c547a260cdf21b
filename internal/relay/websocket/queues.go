package websocket

import (
	"sync"
	"sync/atomic"

	"engramd/internal/relay/fairness"
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
		if s = (&shareQueue{name: who.Share}); q.shares == nil {
			q.shares = make(map[string]*shareQueue)
		}
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
