package cluster

import (
	"context"
	"errors"
	"strings"
	"time"
)

// holding is what a node keeps back because a member has read another log.
type holding struct {
	held    uint64    // from which message on nothing is executed, 0 for none
	cleared uint64    // up to which message it is known that the node goes on
	vote    bool      // a mark is to be appended that says what this node has read
	lives   bool      // and that it lives
	voted   time.Time // when the last one was due
	ahead   word      // up to where this node has looked ahead
}

// question holds what was just read, if it is open which log the majority has read.
func (h *holding) question(s *state) {
	if s.dispute == 0 || s.number <= h.cleared || s.faults.NoHold {
		return
	}
	h.held, h.vote, h.lives, h.voted, h.ahead = s.number, true, false, time.Now(), word{}
}

// again has another mark say what this node has read, as often as it would say that
// it lives: the batches that say so are held up at nodes that hold.
func (h *holding) again(now time.Time) bool {
	if h.held == 0 || now.Sub(h.voted) < beatEvery {
		return false
	}
	h.vote, h.lives, h.voted = true, true, now
	return true
}

// hold returns once the log says that the majority of members has read the same as
// this node; then what was read is executed, and not before: who waits for an answer
// waits, and so does who reads the latest state. It looks ahead instead of keeping
// what comes, which is read once more after it.
func hold(ctx context.Context, n *Node) error {
	n.mu.Lock()
	if n.held == 0 {
		n.mu.Unlock()
		return nil
	}
	s := n.seen.clone()
	n.mu.Unlock()
	n.signals.give()
	n.o.Logger.Warn("a member has read another log: nothing is acknowledged here until it is known what the majority has read",
		"members", strings.Join(differing(s), ", "), "message", s.number)
	err := n.log.Read(ctx, s.number+1, func(m Message) error {
		s.voidsIn(m)
		n.mu.Lock()
		n.ahead = *s.saying(0, false)
		n.mu.Unlock()
		if err := s.proven(n.o.NodeID); err != nil {
			return err
		}
		if s.dispute == 0 {
			return errThere
		}
		return nil
	})
	if !errors.Is(err, errThere) {
		return err
	}
	n.o.Logger.Error("members have read another log than the majority: they must join again", "members", strings.Join(differing(s), ", "))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held, n.vote, n.cleared = 0, false, s.number
	progress(n)
	return nil
}
