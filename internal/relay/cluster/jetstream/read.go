package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"engramd/internal/relay/cluster"
)

const (
	firstPause = 50 * time.Millisecond // before reading begins anew; doubled
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
// number at another whenever it is silent, or leaves something out. Beside
// ErrTrimmed and what fn returns, the error may be ErrReplaced, or ErrNotConnected
// after Close.
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	link := r.c.link.context()
	f, err := r.await(ctx)
	if err != nil {
		return err
	}
	defer f.end()
	go func() { // beside reading: it needs the log's leader, which reading does not
		if _, _, err := r.c.Bounds(ctx); errors.Is(err, ErrReplaced) {
			cancel(endOfRead{err})
		}
	}()
	silence := time.NewTimer(silenceLimit)
	defer silence.Stop()
	for {
		silence.Reset(silenceLimit) // without the time that fn took
		var m *nats.Msg
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-link.Done():
			return ErrNotConnected
		case m = <-f.messages:
		case <-silence.C:
			return errors.New("a server is silent")
		}
		if err := r.take(ctx, m); err != nil {
			return err
		}
	}
}

// take hands a message on if it is the next one, and answers what the server wants
// to know.
func (r *reader) take(ctx context.Context, m *nats.Msg) error {
	if status := m.Header.Get("Status"); status != "" && len(m.Data) == 0 {
		return r.status(ctx, m, status)
	}
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
	return r.hand(cluster.Message{Number: number, At: meta.Timestamp, Data: m.Data})
}

// hand hands on the next message.
func (r *reader) hand(m cluster.Message) error {
	r.holes = 0
	r.next++
	if err := r.fn(m); err != nil {
		return endOfRead{err}
	}
	return nil
}

// status takes a message of the server's own: a heartbeat, which says how far it
// has sent, or the question whether all until here was taken.
func (r *reader) status(ctx context.Context, m *nats.Msg, status string) error {
	if status != "100" {
		return fmt.Errorf("the server says %s %s", status, m.Header.Get("Description"))
	}
	answer := m.Reply
	if answer == "" {
		answer = m.Header.Get("Nats-Consumer-Stalled")
	}
	if answer != "" {
		if err := r.c.nc.Publish(answer, nil); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	if sent, err := strconv.ParseUint(m.Header.Get("Nats-Last-Stream"), 10, 64); err == nil && sent >= r.next {
		return r.gap(ctx, sent+1, m.Header.Get("Nats-Last-Consumer") == "0")
	}
	return nil
}

// gap says why something came that is not the next message: that was trimmed, or
// lost on the way, or is not there at all, which a log must not have.
func (r *reader) gap(ctx context.Context, number uint64, first bool) error {
	begins, _, err := r.c.Bounds(ctx)
	switch {
	case errors.Is(err, ErrReplaced):
		return endOfRead{err}
	case err != nil:
		return err
	case begins > r.next:
		return endOfRead{fmt.Errorf("%w: it begins at %d, and %d is wanted", cluster.ErrTrimmed, begins, r.next)}
	}
	if first {
		r.holes++
	}
	if r.holes >= holeTries {
		return endOfRead{fmt.Errorf("%w: message %d is missing in its middle", cluster.ErrTrimmed, r.next)}
	}
	return fmt.Errorf("message %d came instead of %d", number, r.next)
}
