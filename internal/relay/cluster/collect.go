package cluster

import (
	"context"
	"fmt"
	"time"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
)

const (
	// The queue holds so much of one share while no other has any.
	queueItems = 4096
	queueBytes = 16 << 20
)

// pending is a command on its way to the log, and who waits for it.
type pending struct {
	raw    []byte
	ticket store.Ticket // of a command of the store, or nil
	reply  chan reply   // of one of the cluster, holds one
	since  time.Time
	read   bool // it has come back
}

type reply struct {
	answer Answer
	err    error
}

// fail tells whoever waits, unless the command's own answer came first.
func (p *pending) fail(err error) {
	if p.ticket != nil {
		p.ticket.Fail(err)
	}
	p.answer(Answer{}, err)
}

func (p *pending) answer(a Answer, err error) {
	if p.reply == nil {
		return
	}
	select {
	case p.reply <- reply{a, err}:
	default:
	}
}

// prepare encodes a command, and refuses what no message holds.
func (n *Node) prepare(it item) (*pending, error) {
	raw, err := it.encode()
	if err != nil {
		return nil, err
	}
	if most := n.log.MaxMessage() - envelope; len(raw) > most {
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrLarge, len(raw), most)
	}
	p := &pending{raw: raw, since: n.o.Clock()}
	if it.own != nil {
		p.reply = make(chan reply, 1)
	}
	return p, nil
}

// Append implements store.Sequencer.
func (n *Node) Append(ctx context.Context, c store.Command, t store.Ticket) error {
	epoch, _ := ctx.Value(leaseKey{}).(uint64)
	if epoch == noLease {
		return ErrLease
	}
	p, err := n.prepare(item{epoch: epoch, store: c})
	if err != nil {
		return err
	}
	p.ticket = t
	if n.o.Faults.OKBeforeAppend {
		if err := n.executeAhead(ctx, c, p); err != nil {
			return err
		}
	}
	return n.push(ctx, p)
}

// executeAhead is Faults.OKBeforeAppend.
func (n *Node) executeAhead(ctx context.Context, c store.Command, p *pending) error {
	n.mu.Lock()
	placed := store.Placed{Place: store.LogPlace{Number: n.seen.number, Index: maxCommands}, At: n.seen.time / int64(time.Second), Command: c, Ticket: p.ticket}
	n.mu.Unlock()
	p.ticket = nil
	return n.o.Executor.Execute(ctx, []store.Placed{placed})
}

// Submit has a command of the cluster executed, and waits until it was, here.
// ErrUnknown says that nobody knows whether it will be. Void is for nodes that are
// stopped (Batch): this one has executed what came before.
func (n *Node) Submit(ctx context.Context, c Command) (Answer, error) {
	if _, ok := c.(Void); ok {
		return Answer{}, ErrNotSkipped
	}
	p, err := n.prepare(item{own: c})
	if err != nil {
		return Answer{}, err
	}
	if err := n.push(ctx, p); err != nil {
		return Answer{}, err
	}
	select {
	case r := <-p.reply:
		return r.answer, r.err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// push takes a command in as soon as there is room.
func (n *Node) push(ctx context.Context, p *pending) error {
	who := fairness.From(ctx)
	for {
		n.mu.Lock()
		if n.err != nil {
			defer n.mu.Unlock()
			return n.err
		}
		if n.fits(who, len(p.raw)) {
			n.queue.Push(who, p, float64(len(p.raw)))
			n.patience = append(n.patience, p)
			n.mu.Unlock()
			n.o.Observe.QueueAdd("cluster", 1)
			n.signal()
			return nil
		}
		room := n.room
		n.mu.Unlock()
		select {
		case <-room:
		case <-n.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fits reports whether there is room. A connection may always have one command
// waiting: it would be held in memory all the same. The others share what there
// is.
func (n *Node) fits(who fairness.Who, size int) bool {
	if !n.queue.Has(who) {
		return true
	}
	items, bytes := n.queue.Of(who.Share)
	others, otherBytes := n.queue.Len()-items, n.queue.Cost()-bytes
	return items+1 <= queueItems-others/2 && bytes+float64(size) <= queueBytes-otherBytes/2
}

// collect takes the commands of one batch from the queue, nil if there are none.
func (n *Node) collect() (out []*pending) {
	bytes, most := 0, min(maxBatch, n.log.MaxMessage()-envelope)
	for len(out) < maxCommands {
		p, _, ok := n.queue.Next()
		if !ok || len(out) > 0 && bytes+len(p.raw) > most {
			break
		}
		n.queue.Pop()
		bytes += len(p.raw)
		out = append(out, p)
	}
	if len(out) > 0 {
		close(n.room)
		n.room = make(chan struct{})
		n.o.Observe.QueueAdd("cluster", -len(out))
	}
	return out
}
