package cluster

import (
	"context"
	"slices"
	"time"
)

// latestTime is how long Latest waits.
const latestTime = 3 * time.Second

// waiter is a call of Latest. It waits for a question, or an append, that begins after
// it, then until everything up to the message that the answers name, or that the append
// made, is executed here.
type waiter struct {
	number  uint64   // 0 while that is not known
	members []NodeID // that have answered, nil where the number is an append's
	done    chan struct{}
	gone    bool // nobody waits any more
}

// reads are the calls of Latest that wait.
type reads struct {
	asking  []*waiter // for a question that begins later
	waiting []*waiter // for an append that begins later
	behind  []*waiter // for what is known to be in the log
	marking bool      // a mark is on its way

	questions signals   // that there is one to ask
	round     *round    // the one that is on its way, or nil
	asked     uint64    // how many were
	marks     time.Time // until when marks are used instead
}

// Latest returns when everything is executed here that was acknowledged
// anywhere before it was called. It is ErrUnknown if that is not known in 3 s.
func (n *Node) Latest(ctx context.Context) error {
	if n.o.Faults.NoWaitForReads {
		return nil
	}
	if n.o.Faults.EndFromLog {
		_, last, err := n.log.Bounds(ctx)
		if err != nil {
			return err
		}
		return Reach(ctx, n, last)
	}
	return stay(ctx, n, func(w *waiter) { seek(n, []*waiter{w}) })
}

// Reach returns when everything up to a message is executed here, ErrUnknown if it is not
// in 3 s.
func Reach(ctx context.Context, n *Node, number uint64) error {
	return stay(ctx, n, func(w *waiter) { n.reached([]*waiter{w}, number, nil, nil) })
}

// Shown returns up to which message something may have been shown here.
func Shown(n *Node) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.folded.state != nil { // may be committed by now
		return n.folded.state.number
	}
	return n.durable.number
}

// stay waits for what begins.
func stay(ctx context.Context, n *Node, begin func(*waiter)) error {
	w := &waiter{done: make(chan struct{})}
	n.mu.Lock()
	begin(w)
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.leave(w)
	}()
	timer, again := time.NewTimer(latestTime), time.NewTicker(askAgain)
	defer timer.Stop()
	defer again.Stop()
	for {
		select {
		case <-w.done:
			return nil
		case <-n.done:
			return n.Err()
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C: // members may answer while the log does not
			n.mu.Lock()
			if w.number == 0 {
				seek(n, []*waiter{w})
			}
			n.mu.Unlock()
		case <-timer.C:
			return ErrUnknown
		}
	}
}

// seek has some wait for the next question, or the next append where none is asked.
func seek(n *Node, list []*waiter) {
	if n.o.Ask != nil && n.met && n.seen.version >= proofVersion && !time.Now().Before(n.marks) {
		n.asking = append(n.asking, list...)
		n.questions.give()
		return
	}
	n.waiting = append(n.waiting, list...)
	n.signals.give()
}

// ask asks what is to be asked, one question after the other.
func ask(ctx context.Context, n *Node) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.questions:
		}
		n.mu.Lock()
		var q []byte
		if n.round == nil && len(n.asking) > 0 {
			n.asked++
			r := newRound(n.seen, question{n.o.ClusterID, n.o.NodeID, n.o.Boot, n.asked}, n.asking)
			n.round, n.asking = r, nil
			if len(r.left) > 0 {
				q = r.append(nil)
				time.AfterFunc(askLimit, func() { late(n, r) })
			}
			complete(n)
		}
		n.mu.Unlock()
		if q != nil {
			n.o.Ask(q)
		}
	}
}

// AnswerTo returns a node's answer to another node's question, and who asks; nil if it says
// nothing.
func AnswerTo(n *Node, raw []byte) (to NodeID, out []byte) {
	q, err := parseQuestion(raw)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil || q.cluster != n.o.ClusterID || q.node == n.o.NodeID || !n.announced || n.err != nil {
		return to, nil
	}
	return q.node, answer{q, n.o.NodeID, n.o.Boot, n.seen.number}.append(nil)
}

// Hear takes what another node answers.
func Hear(n *Node, raw []byte) {
	a, err := parseAnswer(raw)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err != nil || n.round == nil:
	case n.round.take(n.seen, a):
		complete(n)
	default:
		giveUp(n, n.round)
	}
}

// complete ends a question that all have answered.
func complete(n *Node) {
	r := n.round
	if r == nil || len(r.left) > 0 {
		return
	}
	n.round = nil
	n.questions.give()
	n.reached(r.list, r.most, r.members, nil)
}

// late gives a question up that not all have answered by now, or whose answers the log
// does not show.
func late(n *Node, r *round) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.round == r || len(r.left) == 0 && n.seen.number < r.most {
		giveUp(n, r)
	}
}

// giveUp has those who wait for a question wait for an append, and asks none for a
// while. Who knows a number already goes when that is executed, too.
func giveUp(n *Node, r *round) {
	list := append(n.asking, r.list...)
	if n.round != nil && n.round != r {
		list = append(list, n.round.list...)
	}
	n.waiting = append(n.waiting, slices.DeleteFunc(list, func(w *waiter) bool { return w.gone })...)
	n.round, n.asking, n.marks = nil, nil, time.Now().Add(askAgain)
	n.signals.give()
}

// meet notes that enough others know this member, and has a new one hear at once that
// its Join was read here.
func meet(n *Node) {
	i, found := n.seen.find(n.o.NodeID)
	switch {
	case !n.met && found && n.announced && (n.seen.members[i].fresh == 0 || n.o.Faults.AckUnknown):
		n.met = true
	case n.met && slices.ContainsFunc(n.seen.members, func(m member) bool { return m.fresh == n.seen.number }):
		n.vote = true
	default:
		return
	}
	n.signals.give()
}

// leave forgets a call that has returned.
func (r *reads) leave(w *waiter) {
	w.gone = true
	for _, list := range []*[]*waiter{&r.asking, &r.waiting, &r.behind} {
		*list = slices.DeleteFunc(*list, func(o *waiter) bool { return o == w })
	}
}

// reached notes that what some wait for is in the log with a number, by the answers of
// some members or by an append, or that they must wait for another append.
func (n *Node) reached(list []*waiter, number uint64, members []NodeID, err error) {
	for _, w := range list {
		switch {
		case w.gone:
		case err != nil:
			n.waiting = append(n.waiting, w)
		case w.number == 0:
			w.number, w.members = number, members
			n.behind = append(n.behind, w)
		case members == nil: // it knows what was answered, and an append is surer
			w.number, w.members = number, nil
		}
	}
	if len(list) == 0 {
		return
	}
	progress(n)
	if err != nil {
		n.signals.give()
	}
}

// progress lets those go whose message everything is executed up to. Who has asked
// others than those that are members now asks again: a new one may have acknowledged
// something before it was known here.
func progress(n *Node) {
	if len(n.behind) == 0 {
		return
	}
	var again []*waiter
	number, members := n.applied(), idsOf(n.seen)
	n.behind = slices.DeleteFunc(n.behind, func(w *waiter) bool {
		switch {
		case w.number > number:
			return false
		case w.members == nil, slices.Equal(w.members, members), n.o.Faults.SameMembers:
			close(w.done)
		default:
			w.number, w.members = 0, nil
			again = append(again, w)
		}
		return true
	})
	if len(again) > 0 {
		seek(n, again)
	}
}
