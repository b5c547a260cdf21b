package session

import (
	"sync"

	"engramd/internal/wire"
)

// verifier is the pool that parses EVENTs and checks their signatures, one for
// all connections. Workers take one message of each connection that has any in
// turn, so that a client which floods delays another by one check, not by all
// of its own. What a connection may have waiting is bounded by its inbox.
type verifier struct {
	mu     sync.Mutex
	ready  sync.Cond
	turns  []*lane // connections with messages waiting, in the order of their turns
	closed bool
}

// lane holds what one connection has waiting for the pool. The verifier's lock
// guards it.
type lane struct {
	jobs []*job
}

func newVerifier(workers int, limits func() wire.Limits) *verifier {
	v := &verifier{}
	v.ready.L = &v.mu
	for range workers {
		go v.work(limits)
	}
	return v
}

// add queues a message of c.
func (v *verifier) add(c *conn, j *job) {
	v.mu.Lock()
	defer v.mu.Unlock()
	j.owner = c
	c.lane.jobs = append(c.lane.jobs, j)
	if len(c.lane.jobs) == 1 {
		v.turns = append(v.turns, &c.lane)
		v.ready.Signal()
	}
}

// next waits for the next message in turn; nil when the pool ends.
func (v *verifier) next() *job {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.turns) == 0 {
		if v.closed {
			return nil
		}
		v.ready.Wait()
	}
	l := v.turns[0]
	v.turns[0] = nil
	v.turns = v.turns[1:]
	j := l.jobs[0]
	l.jobs[0] = nil
	l.jobs = l.jobs[1:]
	if len(l.jobs) > 0 {
		v.turns = append(v.turns, l)
	} else {
		l.jobs = nil
	}
	return j
}

func (v *verifier) work(limits func() wire.Limits) {
	for j := v.next(); j != nil; j = v.next() {
		j.owner.srv.metrics.QueueAdd(queueVerify, -1)
		j.owner.check(j, limits())
	}
}

// close ends the workers once nothing is waiting.
func (v *verifier) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	v.ready.Broadcast()
}

// check runs in a worker. A panic is the connection's, not the pool's.
func (c *conn) check(j *job, lim wire.Limits) {
	defer wake(c.in.more)
	defer c.rescue("verify")
	if c.ctx.Err() == nil {
		j.parse(lim, &c.srv.signatures)
	}
	j.parsed.Store(true)
}
