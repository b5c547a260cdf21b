package cluster

import (
	"context"
	"fmt"
	"time"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
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
func (o *Options) prepare(it item) (*pending, error) {
	raw, err := it.encode()
	if err != nil {
		return nil, err
	}
	if most := o.Log.MaxMessage() - envelope; len(raw) > most {
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrLarge, len(raw), most)
	}
	p := &pending{raw: raw, since: o.Clock()}
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
	if _, reads := c.(store.UseCalls); !reads { // what a call changes is another command
		if err := Refuses(n); err != nil {
			return err
		}
	}
	p, err := n.o.prepare(item{epoch: epoch, store: c})
	if err != nil {
		return err
	}
	p.ticket = t
	if n.o.Faults.OKBeforeAppend {
		if err := executeAhead(ctx, n, c, p); err != nil {
			return err
		}
	}
	return n.push(ctx, p)
}

// Submit has a command of the cluster executed, and waits until it was, here.
// ErrUnknown says that nobody knows whether it will be. Void is for nodes that are
// stopped (Batch): this one has executed what came before.
func (n *Node) Submit(ctx context.Context, c Command) (Answer, error) {
	if _, ok := c.(Void); ok {
		return Answer{}, ErrNotSkipped
	}
	p, err := n.o.prepare(item{own: c})
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
			n.signals.give()
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
