package client

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"engramd/nips/nipae"
)

// Who writes one slug faster than once a second dates each version a second
// after the one before, and so runs ahead of the clock.
const (
	// burstAhead is how far a version of ours may be dated ahead of the clock.
	burstAhead = 30 * time.Second
	// foreignAhead is from where a head's time is another clock's: ours never
	// wrote it. It is superseded, slowly, up to where it is poisoned.
	foreignAhead = 60 * time.Second
	// foreignPace is between two writes behind heads of another clock.
	foreignPace = time.Second
)

// Turn is a write's place in a burst.
type Turn struct {
	foreign bool // it has its place behind a head of another clock
}

// Pause returns how long a write must wait that would supersede a head of that
// time (Unix seconds); 0 if it need not.
func (c *Client) Pause(last int64, t *Turn) time.Duration {
	now := c.o.Clock()
	ahead := time.Unix(last+1, 0).Sub(now)
	switch {
	case ahead <= burstAhead, t.foreign, ahead > nipae.PoisonThreshold:
		return 0
	case ahead <= foreignAhead:
		return ahead - burstAhead
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.foreign = true
	next := c.lastForeign.Add(foreignPace)
	if next.Before(now) {
		next = now
	}
	c.lastForeign = next
	return next.Sub(now)
}

// wait is Options.Wait by the real clock.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waiting holds the questions and events of a connection that have no answer.
type waiting struct {
	mu        sync.Mutex
	questions map[string]*Question
	oks       map[string]*acknowledgement // by event id
	asked     int
	open      int       // questions and events without an answer
	quiet     int       // frames that came while nothing was waiting
	lastUsed  time.Time // when something was last asked or answered
}

// acknowledgement is an event that waits for its OK.
type acknowledgement struct {
	answer  chan Message
	waiters int
}

// find returns the question or the event that a message answers. tooLoud: too
// many came while nothing was waiting.
func (w *waiting) find(m Message) (q *Question, ack *acknowledgement, tooLoud bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == 0 {
		w.quiet++
	}
	return w.questions[m.sub], w.oks[m.id], w.quiet > maxIdleFrames
}

// recent reports whether something waits, or was answered a short time ago.
func (w *waiting) recent(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open > 0 || now.Sub(w.lastUsed) < maxIdle
}

// expectOK opens a place for an event's OK; give it back with forget.
func (w *waiting) expectOK(id string) *acknowledgement {
	w.mu.Lock()
	defer w.mu.Unlock()
	ack := w.oks[id]
	if ack == nil {
		ack = &acknowledgement{answer: make(chan Message, maxAuths)}
		w.oks[id] = ack
	}
	ack.waiters++
	w.begin()
	return ack
}

func (w *waiting) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ack := w.oks[id]; ack != nil {
		if ack.waiters--; ack.waiters == 0 {
			delete(w.oks, id)
		}
	}
	w.finish()
}

// begin and finish bracket every wait. mu is held.
func (w *waiting) begin() { w.open++; w.quiet = 0; w.lastUsed = time.Now() }

func (w *waiting) finish() { w.open--; w.lastUsed = time.Now() }

// Question is a REQ, or another frame with a subscription id, and the place for
// its answers.
type Question struct {
	ID      string
	c       *Conn
	answers chan Message
	gone    chan struct{} // closed when no more answers are taken
}

// Question opens a place for the answers to a question; give it back with Leave.
func (c *Conn) Question() *Question {
	w := &c.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	q := &Question{ID: "q" + strconv.Itoa(w.asked), c: c, answers: make(chan Message, 16), gone: make(chan struct{})}
	w.questions[q.ID] = q
	w.begin()
	return q
}

// Leave gives the place up.
func (q *Question) Leave() {
	w := &q.c.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	close(q.gone)
	delete(w.questions, q.ID)
	w.finish()
}

// Send sends a frame of the question.
func (q *Question) Send(ctx context.Context, frame []byte) error { return q.c.send(ctx, frame) }

// Next returns the next answer with one of those labels, or any. An answer that
// came before the connection ended still counts. missing is the reason of an
// ErrTimeout.
func (q *Question) Next(ctx context.Context, missing string, labels ...string) (Message, error) {
	for {
		var m Message
		select {
		case m = <-q.answers:
		default:
			select {
			case m = <-q.answers:
			case <-q.c.done:
				select {
				case m = <-q.answers:
				default:
					return Message{}, q.c.ended()
				}
			case <-ctx.Done():
				return Message{}, fmt.Errorf("%w: %s", ErrTimeout, missing)
			}
		}
		if len(labels) == 0 || slices.Contains(labels, m.Label) {
			return m, nil
		}
		if ctx.Err() != nil {
			return Message{}, fmt.Errorf("%w: %s", ErrTimeout, missing)
		}
	}
}

// Cancel sends a last frame, if that can be done at once. A relay that does not
// read it only sends answers that are not looked at.
func (q *Question) Cancel(frame []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if err := q.c.send(ctx, frame); err != nil {
		q.c.end(err)
	}
}

// Unsubscribe cancels a REQ.
func (q *Question) Unsubscribe() { q.Cancel(fmt.Appendf(nil, `["CLOSE",%q]`, q.ID)) }
