package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"engramd/internal/relay/store"
)

// Node is one of several that execute the same log. It owns everything between
// what is appended here and what is executed here.
type Node struct {
	o       Options
	log     Log
	signals signals // that the sender has something to do
	done    chan struct{}

	mu  sync.Mutex // of all below
	err error      // why it has ended, nil while it has not
	position
	inbox
	sending
	reads
	vigil
	servers
	holds   []*uint64 // numbers beyond which the log is not to be trimmed
	missed  sender    // of which batches were never read here
	emptied signals   // steps were executed
	skipped int       // of Faults.SkipACommand
}

var _ store.Sequencer = (*Node)(nil)

const defaultPatience = 10 * time.Second

// New makes a node that goes on behind the state that is stored with its
// database. It does nothing before Run.
func New(o Options) (*Node, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Confirmed == nil {
		o.Confirmed = func() bool { return true }
	}
	if o.Trusts == nil {
		o.Trusts = func(time.Time) bool { return true }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = nobody{}
	}
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	s := &state{cluster: o.ClusterID}
	if len(o.State) > 0 {
		var err error
		if s, err = unmarshalState(o.State); err != nil {
			return nil, err
		}
	}
	if s.cluster != o.ClusterID {
		return nil, fmt.Errorf("%w: the database is of cluster %s, not of %s", ErrForeign, s.cluster, o.ClusterID)
	}
	s.faults = o.Faults
	n := &Node{
		o: o, log: o.Log, position: position{seen: s, durable: s.clone(), base: o.Clock()},
		signals: make(signals, 1), emptied: make(signals, 1), done: make(chan struct{}), reads: reads{questions: make(signals, 1)}, inbox: inbox{room: make(chan struct{})},
	}
	if o.Boot == 0 {
		return n, errors.New("a node needs the number of its boot")
	}
	p, err := o.prepare(item{own: Join{Name: o.Name, Version: o.Version}}) // the first batch of this boot says who this node is
	if err == nil {
		n.batch(&o, []*pending{p}, s.saying(o.stamp(), false))
	}
	return n, err
}

// Run reads and executes until ctx ends or the node is halted. The error is nil
// in the first case only.
func (n *Node) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	last, err := n.stand(ctx)
	if err != nil && ctx.Err() == nil {
		n.Halt(err)
		return n.Err()
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := n.read(ctx, last); err != nil && ctx.Err() == nil {
			n.Halt(err)
		}
	})
	all.Go(func() { n.send(ctx) })
	all.Go(func() { ask(ctx, n) })
	all.Go(func() { keep(ctx, n) })
	all.Go(func() { lose(ctx, n) })
	all.Go(func() { trim(ctx, n) })
	select {
	case <-n.done:
	case <-ctx.Done():
	}
	ended := ctx.Err() != nil
	n.Halt(context.Canceled)
	cancel()
	all.Wait()
	if ended {
		return nil
	}
	return n.Err()
}

// stand looks whether this node may go on, before it appends anything: it must
// not fill a log that is not its own. It returns where the log ends.
func (n *Node) stand(ctx context.Context) (last uint64, err error) {
	n.mu.Lock()
	s := n.seen.clone()
	err = cmp.Or(n.standing(&n.o, n.announced), n.durable.disagreement())
	n.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if last, err = n.o.bounds(ctx, s); err == nil {
		err = n.o.same(ctx, s)
	}
	return last, err
}

// Halt ends the node, whoever waits is told that nobody knows what became of the
// command, and nothing more is executed. The first reason counts.
func (n *Node) Halt(err error) {
	n.mu.Lock()
	if n.err != nil {
		n.mu.Unlock()
		return
	}
	n.err = fmt.Errorf("%w: %w", ErrStopped, err)
	close(n.done)
	all := n.drain()
	n.o.Observe.QueueAdd("cluster", -len(all))
	for _, b := range n.unread {
		all = append(all, b.list...)
	}
	for i := range n.steps {
		if p := n.steps[i].sender; p != nil {
			all = append(all, p)
		}
	}
	err = n.err
	n.mu.Unlock()
	if !errors.Is(err, context.Canceled) {
		n.o.Logger.Error("this node executes no more commands", "err", err)
	}
	for _, p := range all {
		p.fail(err)
	}
}

// Done is closed when the node has ended.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err returns why the node has ended, an ErrStopped, and nil while it has not.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// signals holds one token while somebody has something to do.
type signals chan struct{}

// give wakes them.
func (s signals) give() {
	select {
	case s <- struct{}{}:
	default:
	}
}
