package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Publisher tells one broker. All methods are safe for concurrent use, return
// at once, and do nothing on a nil *Publisher.
type Publisher struct {
	o     Options
	queue chan message
	stop  chan struct{}
	cut   context.Context // ends what Close does not wait for
	kill  context.CancelFunc
	ended chan struct{}
	once  sync.Once
}

// New starts a publisher. The errors are ErrURL, ErrPrefix and ErrCredentials;
// whether there is a broker shows later, in log and metrics.
func New(o Options) (*Publisher, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	p := &Publisher{o: o.withDefaults(), stop: make(chan struct{}), ended: make(chan struct{})}
	p.queue = make(chan message, p.o.Queue)
	p.cut, p.kill = context.WithCancel(context.Background())
	go p.run()
	return p, nil
}

// Created tells of a bundle.
func (p *Publisher) Created(c Created) { p.tell(kindCreated, c.Agent, &c.head, &c) }

// Restored tells of a restore.
func (p *Publisher) Restored(r Restored) { p.tell(kindRestored, r.Agent, &r.head, &r) }

// Deleted tells of a bundle that is gone.
func (p *Publisher) Deleted(d Deleted) { p.tell(kindDeleted, d.Agent, &d.head, &d) }

// GC tells of a sweep.
func (p *Publisher) GC(g GC) { p.tell(kindGC, "_all", &g.head, &g) }

// Mutated tells that an agent wrote to its memory: an event of this kind, with
// this many bytes of content.
func (p *Publisher) Mutated(agent string, eventKind, size int) {
	m := mutated{Agent: agent, EventKind: eventKind, Size: size}
	p.tell(kindMutated, agent, &m.head, &m)
}

// tell queues a message about an agent, or about "_all", of whose body h is part.
func (p *Publisher) tell(kind, agent string, h *head, body any) {
	if p == nil {
		return
	}
	*h = head{Version: 1, Kind: kind, Time: p.o.Clock().Unix()}
	subject := p.o.Prefix + "." + agent + "." + kind
	if kind == kindMutated {
		subject = MutatedPrefix + "." + agent
	}
	p.put(message{kind, subject, body})
}

// put never waits: what finds the queue full is dropped, so that what is older
// and may be the cause of it is told.
func (p *Publisher) put(m message) {
	select {
	case <-p.stop:
		p.o.Observe.BrokerMessage(m.kind, false)
		return
	default:
	}
	select {
	case p.queue <- m:
	default:
		p.o.Observe.BrokerMessage(m.kind, false)
	}
}

// Close sends what waits, if the broker is there, and ends; ctx bounds that.
func (p *Publisher) Close(ctx context.Context) {
	if p == nil {
		return
	}
	p.once.Do(func() { close(p.stop) })
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.kill() // and it ends as soon as the library lets go
	}
}

// run owns the connection: it is the only one that knows of it.
func (p *Publisher) run() {
	defer close(p.ended)
	defer p.kill()
	defer p.dropRest()
	trouble := &trouble{o: &p.o}
	var left *message // taken from the queue and not sent
	for {
		nc, gone, err := p.connect()
		if err == nil {
			trouble.connected()
			p.o.Observe.BrokerConnected(true)
			left, err = p.serve(nc, gone, left)
			nc.Close()
			p.o.Observe.BrokerConnected(false)
		}
		if err == nil { // stopped, and all is sent
			return
		}
		pause := trouble.happened(err)
		select {
		case <-p.stop:
			if left != nil {
				p.o.Observe.BrokerMessage(left.kind, false)
			}
			return
		case <-time.After(pause):
		}
	}
}

// dropRest counts what nobody will be told.
func (p *Publisher) dropRest() {
	for {
		select {
		case m := <-p.queue:
			p.o.Observe.BrokerMessage(m.kind, false)
		default:
			return
		}
	}
}

// serve sends until the connection is gone, which is the error, with the
// message that could not be sent; or until the publisher is stopped.
func (p *Publisher) serve(nc *nats.Conn, gone <-chan struct{}, left *message) (*message, error) {
	if left != nil {
		if err := p.send(nc, *left); err != nil {
			return left, err
		}
	}
	for {
		select {
		case <-gone:
			return nil, lost(nc)
		case m := <-p.queue:
			if err := p.send(nc, m); err != nil {
				return &m, err
			}
		case <-p.stop:
			return p.finish(nc)
		}
	}
}

// finish sends what waits when the publisher is stopped.
func (p *Publisher) finish(nc *nats.Conn) (*message, error) {
	for {
		select {
		case m := <-p.queue:
			if err := p.send(nc, m); err != nil {
				return &m, err
			}
		default:
			ctx, cancel := context.WithTimeout(p.cut, flushLimit)
			defer cancel()
			if err := nc.FlushWithContext(ctx); err != nil {
				return nil, fmt.Errorf("flush: %w", err)
			}
			return nil, nil
		}
	}
}

func (p *Publisher) send(nc *nats.Conn, m message) error {
	data, err := json.Marshal(m.body)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if err := nc.Publish(m.subject, data); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	p.o.Observe.BrokerMessage(m.kind, true)
	return nil
}

func lost(nc *nats.Conn) error {
	if err := nc.LastError(); err != nil {
		return fmt.Errorf("connection lost: %w", err)
	}
	return fmt.Errorf("connection lost: %w", nats.ErrConnectionClosed)
}
