package websocket

import (
	"runtime"
	"sync"

	"engramd/internal/relay/fairness"
)

// verifier is the pool that parses EVENTs and checks their signatures, and does
// what else takes the processor for long, one for all connections. Workers take one message of each share in turn, and within a
// share of each connection, so that who floods, from however many connections,
// delays another by few checks, not by all of its own. What a connection may
// have waiting is bounded by its inbox.
type verifier struct {
	mu     sync.Mutex
	ready  sync.Cond
	jobs   fairness.Queue[*job]
	closed bool
}

// checkCostBytes is what a signature check costs, in bytes to be parsed and
// hashed.
const checkCostBytes = 12 << 10

func newVerifier(workers int) *verifier {
	v := &verifier{}
	v.ready.L = &v.mu
	for range workers {
		go v.work()
	}
	return v
}

// add queues a message of c.
func (v *verifier) add(c *conn, j *job) {
	v.mu.Lock()
	defer v.mu.Unlock()
	j.owner = c
	v.jobs.Push(c.charged(), j, float64(j.size+checkCostBytes))
	v.ready.Signal()
}

// do has a worker do work for c, and waits for it. A panic in it ends the
// connection. It reports false when the pool has ended.
func (v *verifier) do(c *conn, cost float64, work func()) bool {
	done := make(chan struct{})
	j := &job{owner: c, work: func() {
		defer close(done)
		defer c.rescue("compute")
		work()
	}}
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return false
	}
	v.jobs.Push(c.charged(), j, cost)
	v.ready.Signal()
	v.mu.Unlock()
	c.srv.o.Metrics.QueueAdd(queueVerify, 1)
	<-done
	return true
}

// next waits for the next message in turn; nil when the pool ends.
func (v *verifier) next() *job {
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		if j, ok := v.jobs.Pop(); ok {
			return j
		}
		if v.closed {
			return nil
		}
		v.ready.Wait()
	}
}

func (v *verifier) work() {
	for j := v.next(); j != nil; j = v.next() {
		j.owner.srv.o.Metrics.QueueAdd(queueVerify, -1)
		if j.work != nil {
			j.work()
		} else {
			j.owner.check(j)
		}
		runtime.Gosched() // there may be more of them than processors
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
func (c *conn) check(j *job) {
	defer wake(c.in.more)
	defer c.rescue("verify")
	if c.ctx.Err() == nil {
		j.parse(&c.srv.signatures)
	}
	j.parsed.Store(true)
}
