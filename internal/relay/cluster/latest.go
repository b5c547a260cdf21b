package cluster

import (
	"context"
	"slices"
	"time"
)

// latestTime is how long Latest waits.
const latestTime = 3 * time.Second

// waiter is a call of Latest. It waits for an append that begins after it, then
// for the message which that made, until all before that is executed here.
type waiter struct {
	number uint64
	done   chan struct{}
	gone   bool // nobody waits any more
}

// reads are the calls of Latest that wait.
type reads struct {
	waiting []*waiter // for an append that begins later
	behind  []*waiter // for what is known to be in the log
	marking bool      // a mark is on its way
}

// Latest returns when everything is executed here that was acknowledged
// anywhere before it was called. It is ErrUnknown if that is not known in 3 s.
func (n *Node) Latest(ctx context.Context) error {
	if n.o.Faults.NoWaitForReads {
		return nil
	}
	w := &waiter{done: make(chan struct{})}
	if n.o.Faults.EndFromLog {
		_, last, err := n.log.Bounds(ctx)
		if err != nil {
			return err
		}
		n.mu.Lock()
		n.reached([]*waiter{w}, last, nil)
		n.mu.Unlock()
	} else {
		n.mu.Lock()
		n.waiting = append(n.waiting, w)
		n.mu.Unlock()
		n.signals.give()
	}
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.leave(w)
	}()
	timer := time.NewTimer(latestTime)
	defer timer.Stop()
	select {
	case <-w.done:
		return nil
	case <-n.done:
		return n.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ErrUnknown
	}
}

// leave forgets a call that has returned.
func (r *reads) leave(w *waiter) {
	w.gone = true
	for _, list := range []*[]*waiter{&r.waiting, &r.behind} {
		*list = slices.DeleteFunc(*list, func(o *waiter) bool { return o == w })
	}
}

// reached notes that what some wait for is in the log with a number, or that
// they must wait for another append.
func (n *Node) reached(list []*waiter, number uint64, err error) {
	for _, w := range list {
		switch {
		case w.gone:
		case err != nil:
			n.waiting = append(n.waiting, w)
		default:
			w.number = number
			n.behind = append(n.behind, w)
		}
	}
	if len(list) == 0 {
		return
	}
	n.progress(n.applied)
	if err != nil {
		n.signals.give()
	}
}

// progress lets those go whose message everything is executed up to.
func (r *reads) progress(applied func() uint64) {
	if len(r.behind) == 0 {
		return
	}
	number := applied()
	r.behind = slices.DeleteFunc(r.behind, func(w *waiter) bool {
		if w.number > number {
			return false
		}
		close(w.done)
		return true
	})
}
