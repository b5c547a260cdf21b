package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"engramd/internal/cluster"
)

const (
	heartbeat  = time.Second // two that do not come, and reading begins anew
	pullFor    = 10 * time.Second
	readAhead  = 16 << 20         // bytes that may wait here
	idleReader = 30 * time.Second // when the servers forget one
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
	holeTries  = 3
)

// ErrReplaced means that the stream is not the one that this connection knew: it
// was removed and made again, and its numbers mean something else.
var ErrReplaced = errors.New("the log was removed and made again")

// reader is one Read.
type reader struct {
	c     *Conn
	next  uint64
	fn    func(cluster.Message) error
	holes int // how often in a row another message came first
}

// endOfRead is an error after which Read does not begin anew.
type endOfRead struct{ error }

func (e endOfRead) Unwrap() error { return e.error }

// Read reads; see cluster.Log. What one server sends is read on from the next
// number at another whenever it is late, or has a gap. Beside ErrTrimmed and what
// fn returns, the error may be ErrReplaced, or ErrNotConnected after Close.
func (c *Conn) Read(ctx context.Context, from uint64, fn func(cluster.Message) error) error {
	r := &reader{c: c, next: max(from, 1), fn: fn}
	for pause := firstPause; ; {
		before := r.next
		err := r.follow(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if c.nc.IsClosed() {
			return ErrNotConnected
		}
		var end endOfRead
		if errors.As(err, &end) {
			return end.error
		}
		if r.next > before {
			pause = firstPause
		}
		c.o.Log.Info("reading the log begins anew", "next", r.next, "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// follow reads through one consumer until something is wrong with it.
func (r *reader) follow(ctx context.Context) error {
	if err := r.trimmed(ctx); err != nil {
		return err
	}
	asked, cancel := r.c.asking(ctx, askLimit)
	defer cancel()
	// It lives in the memory of one server and remembers nothing: what is lost
	// with it is asked for again.
	consumer, err := r.c.js.CreateConsumer(asked, r.c.o.Stream, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next,
		AckPolicy: jetstream.AckNonePolicy, ReplayPolicy: jetstream.ReplayInstantPolicy,
		Replicas: 1, MemoryStorage: true, InactiveThreshold: idleReader,
	})
	if err != nil {
		return fmt.Errorf("create a consumer: %w", err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(readAhead), jetstream.PullHeartbeat(heartbeat), jetstream.PullExpiry(pullFor))
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("next message: %w", err)
		}
		if err := r.take(ctx, m); err != nil {
			return err
		}
	}
}

// take hands a message on if it is the next one.
func (r *reader) take(ctx context.Context, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("message without a number: %w", err)
	}
	number := meta.Sequence.Stream
	switch {
	case number < r.next:
		return nil
	case number > r.next:
		return r.gap(ctx, number, meta.Sequence.Consumer == 1)
	}
	r.holes = 0
	r.next++
	if err := r.fn(cluster.Message{Number: number, At: meta.Timestamp, Data: m.Data()}); err != nil {
		return endOfRead{err}
	}
	return nil
}

// gap says why a message came that is not the next one: it was trimmed, it was
// lost on the way, or it is not there at all, which a log must not have.
func (r *reader) gap(ctx context.Context, number uint64, first bool) error {
	if err := r.trimmed(ctx); err != nil {
		return err
	}
	if first {
		r.holes++
	}
	if r.holes >= holeTries {
		return endOfRead{fmt.Errorf("%w: message %d is missing in its middle", cluster.ErrTrimmed, r.next)}
	}
	return fmt.Errorf("message %d came instead of %d", number, r.next)
}

// trimmed says whether the next message is no longer there.
func (r *reader) trimmed(ctx context.Context) error {
	first, _, err := r.c.Bounds(ctx)
	if errors.Is(err, ErrReplaced) {
		return endOfRead{err}
	}
	if err != nil {
		return err
	}
	if first > r.next {
		return endOfRead{fmt.Errorf("%w: it begins at %d, and %d is wanted", cluster.ErrTrimmed, first, r.next)}
	}
	return nil
}
