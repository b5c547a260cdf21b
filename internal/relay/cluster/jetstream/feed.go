package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"engramd/internal/relay/cluster"
)

const (
	heartbeat    = 300 * time.Millisecond // what a server with nothing to send sends
	silenceLimit = 4 * heartbeat
	feedTries    = 5
	feedHedge    = 250 * time.Millisecond // until another server is asked too
	pollAfter    = 300 * time.Millisecond // until messages are asked for one by one
	pollPause    = 10 * time.Millisecond  // if there was none
)

// feed is what one server sends of the log, through a consumer of JetStream: one
// that lives in the memory of one server and keeps no account of what was sent.
// The server forgets it 5 s after end.
type feed struct {
	messages chan *nats.Msg
	done     chan struct{}
	sub      *nats.Subscription
}

// feed has a server send from a number on. Which one is chosen by the servers, and
// for a while after one of them was killed they choose it too: so several are asked
// one after the other, without waiting for long, and the first that answers is
// taken.
func (c *Conn) feed(ctx context.Context, from uint64) (*feed, error) {
	ctx, cancel := c.link.asking(ctx, askLimit)
	type outcome struct {
		*feed
		err error
	}
	outcomes := make(chan outcome, feedTries)
	begun, ended := 0, 0
	defer func() {
		cancel()
		go func() {
			for ; ended < begun; ended++ {
				if o := <-outcomes; o.err == nil {
					o.end()
				}
			}
		}()
	}()
	hedge := time.NewTimer(0)
	defer hedge.Stop()
	for err := error(nil); ; {
		select {
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return nil, err
		case <-hedge.C:
			if begun == feedTries {
				continue
			}
			begun++
			go func() {
				f, err := c.oneFeed(ctx, from)
				outcomes <- outcome{f, err}
			}()
			hedge.Reset(feedHedge)
		case o := <-outcomes:
			ended++
			if o.err == nil {
				return o.feed, nil
			}
			if err = o.err; ended == feedTries {
				return nil, err
			}
		}
	}
}

// await waits for a feed, and meanwhile asks the log's leader for one message after
// the other: JetStream makes consumers only as long as its own leader lives, which
// need not be that of the log.
func (r *reader) await(ctx context.Context) (*feed, error) {
	type outcome struct {
		*feed
		err error
	}
	came := make(chan outcome, 1)
	from := r.next
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		f, err := r.c.feed(ctx, from)
		came <- outcome{f, err}
	}()
	poll := time.NewTimer(pollAfter)
	defer poll.Stop()
	for {
		select {
		case o := <-came:
			cancel()
			return o.feed, o.err
		case <-poll.C:
		}
		pause := time.Duration(0)
		m, err := r.c.one(ctx, r.next)
		if err != nil {
			pause = pollPause
		} else if err = r.hand(m); err != nil {
			cancel()
			if o := <-came; o.err == nil {
				o.end()
			}
			return nil, err
		}
		poll.Reset(pause)
	}
}

// one asks the log's leader for one message.
func (c *Conn) one(ctx context.Context, number uint64) (cluster.Message, error) {
	ctx, cancel := c.link.asking(ctx, time.Second)
	defer cancel()
	stream := c.stream.Load()
	if stream == nil {
		found, _, err := c.info(ctx)
		if err != nil {
			return cluster.Message{}, err
		}
		stream = &found
	}
	m, err := (*stream).GetMsg(ctx, number)
	if err != nil {
		return cluster.Message{}, fmt.Errorf("ask for message %d: %w", number, err)
	}
	return cluster.Message{Number: number, At: m.Time, Data: m.Data}, nil
}

// oneFeed asks once.
func (c *Conn) oneFeed(ctx context.Context, from uint64) (*feed, error) {
	f := &feed{messages: make(chan *nats.Msg), done: make(chan struct{})}
	inbox := nats.NewInbox()
	var err error
	f.sub, err = c.nc.Subscribe(inbox, func(m *nats.Msg) {
		select {
		case f.messages <- m:
		case <-f.done:
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	// The server waits when 32 MiB were not taken (flow control).
	err = f.sub.SetPendingLimits(-1, -1)
	if err == nil {
		_, err = c.js.CreatePushConsumer(ctx, c.o.Stream, jetstream.ConsumerConfig{
			DeliverSubject: inbox, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
			AckPolicy: jetstream.AckNonePolicy, ReplayPolicy: jetstream.ReplayInstantPolicy,
			FlowControl: true, IdleHeartbeat: heartbeat, Replicas: 1, MemoryStorage: true,
		})
	}
	if err != nil {
		f.end()
		return nil, fmt.Errorf("ask for the log: %w", err)
	}
	return f, nil
}

// end ends it.
func (f *feed) end() {
	close(f.done)
	_ = f.sub.Unsubscribe() // it fails if the connection is closed
}
