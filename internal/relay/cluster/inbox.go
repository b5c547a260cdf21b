package cluster

import (
	"context"
	"time"

	"engramd/internal/relay/fairness"
)

const (
	// The queue holds so much of one share while no other has any.
	queueItems = 4096
	queueBytes = 16 << 20
)

// inbox is what is to be sent, and what was not seen in the log yet.
type inbox struct {
	queue    fairness.Queue[*pending]
	room     chan struct{} // closed, and made anew, when the queue was emptied a little
	patience []*pending    // in the order in which they came
}

// fits reports whether there is room. A connection may always have one command
// waiting: it would be held in memory all the same. The others share what there
// is.
func (b *inbox) fits(who fairness.Who, size int) bool {
	if !b.queue.Has(who) {
		return true
	}
	items, bytes := b.queue.Of(who.Share)
	others, otherBytes := b.queue.Len()-items, b.queue.Cost()-bytes
	return items+1 <= queueItems-others/2 && bytes+float64(size) <= queueBytes-otherBytes/2
}

// collect takes the commands of one batch from the queue, nil if there are none.
func (b *inbox) collect(most int) (out []*pending) {
	bytes := 0
	for len(out) < maxCommands {
		p, _, ok := b.queue.Next()
		if !ok || len(out) > 0 && bytes+len(p.raw) > most {
			break
		}
		b.queue.Pop()
		bytes += len(p.raw)
		out = append(out, p)
	}
	if len(out) > 0 {
		close(b.room)
		b.room = make(chan struct{})
	}
	return out
}

// drain takes all from the queue.
func (b *inbox) drain() (all []*pending) {
	for {
		p, ok := b.queue.Pop()
		if !ok {
			return all
		}
		all = append(all, p)
	}
}

// lost takes off what was not read in the time of patience.
func (b *inbox) lost(now time.Time, patience time.Duration) (out []*pending) {
	i := 0
	for ; i < len(b.patience); i++ {
		p := b.patience[i]
		if p.read {
			continue
		}
		if now.Sub(p.since) < patience {
			break
		}
		out = append(out, p)
	}
	clear(b.patience[:i])
	b.patience = b.patience[i:]
	return out
}

// lose tells the senders of commands that are not known to be in the log after
// the time of patience. What they sent goes on trying.
func lose(ctx context.Context, n *Node) {
	every(ctx, n.o.Patience/8, func() {
		now := n.o.Clock()
		n.mu.Lock()
		lost := n.lost(now, n.o.Patience)
		n.mu.Unlock()
		for _, p := range lost {
			p.fail(ErrUnknown)
		}
	})
}
