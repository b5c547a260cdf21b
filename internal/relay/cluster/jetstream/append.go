package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"engramd/internal/relay/cluster"
)

// maxMessage is the same on every server and node, whatever max_payload is: a
// command that one node can append can be appended by each.
const maxMessage = 4 << 20

// refusalDelay is when an append that failed at once is told: who tries again at
// once shall not do so in a circle.
const refusalDelay = 100 * time.Millisecond

// Errors of an append that certainly did not enter the log, unlike
// cluster.ErrUnknown.
var (
	ErrTooLarge     = errors.New("the message is larger than the log takes")
	ErrBusy         = errors.New("too many appends have no answer yet")
	ErrNotConnected = errors.New("there is no connection to the log")
	ErrNoLeader     = errors.New("no server takes appends now: the log has no leader")
)

// pending is an append without an answer.
type pending struct {
	done  func(uint64, error)
	timer *time.Timer
}

// answer is what the log says to an append (the server's JSPubAckResponse).
type answer struct {
	Error    *jetstream.APIError `json:"error"`
	Stream   string              `json:"stream"`
	Sequence uint64              `json:"seq"`
}

// Append sends the message and returns; see cluster.Log. After AppendTimeout
// without an answer, or when the connection is lost, done gets a
// cluster.ErrUnknown. Any other error says that the message did not enter, as
// far as the server knows.
func (c *Conn) Append(message []byte, done func(number uint64, err error)) {
	switch {
	case len(message) > maxMessage:
		refuse(done, ErrTooLarge)
		return
	case !c.up.Load():
		refuse(done, ErrNotConnected)
		return
	}
	c.mu.Lock()
	if c.closed || len(c.pending) >= c.o.InFlight {
		closed := c.closed
		c.mu.Unlock()
		if closed {
			refuse(done, ErrNotConnected)
		} else {
			refuse(done, ErrBusy)
		}
		return
	}
	c.last++
	token := c.last
	c.pending[token] = &pending{done: done, timer: time.AfterFunc(c.o.AppendTimeout, func() { c.expire(token) })}
	c.mu.Unlock()
	// Some of it may have been written before an error.
	if err := c.nc.PublishRequest(c.subject, c.inbox+"."+strconv.FormatUint(token, 36), message); err != nil {
		if p := c.take(token); p != nil {
			refuse(p.done, unknown(err))
		}
	}
}

func refuse(done func(uint64, error), err error) {
	time.AfterFunc(refusalDelay, func() { done(0, err) })
}

func unknown(why error) error { return fmt.Errorf("%w: %w", cluster.ErrUnknown, why) }

// listen subscribes to the answers.
func (c *Conn) listen() error {
	c.inbox = nats.NewInbox()
	sub, err := c.nc.Subscribe(c.inbox+".*", c.answered)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil { // there are at most as many as appends
		return fmt.Errorf("subscribe: %w", err)
	}
	return nil
}

// take removes an append from those without an answer: whoever does so calls
// done.
func (c *Conn) take(token uint64) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[token]
	if p != nil {
		delete(c.pending, token)
		p.timer.Stop()
	}
	return p
}

func (c *Conn) answered(m *nats.Msg) {
	token, err := strconv.ParseUint(m.Subject[len(c.inbox)+1:], 36, 64)
	if err != nil {
		return
	}
	p := c.take(token)
	if p == nil { // too late
		return
	}
	number, err := c.read(m)
	switch {
	case err == nil:
		c.mu.Lock()
		c.failing = time.Time{}
		c.mu.Unlock()
		p.done(number, nil)
	case errors.Is(err, cluster.ErrUnknown):
		p.done(0, err)
	default:
		refuse(p.done, err)
		c.moveOn()
	}
}

// read reads the answer to an append.
func (c *Conn) read(m *nats.Msg) (uint64, error) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return 0, ErrNoLeader
	}
	var a answer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return 0, unknown(fmt.Errorf("the server's answer is no JSON: %w", err))
	}
	if a.Error != nil {
		return 0, fmt.Errorf("the log refuses: %w", a.Error)
	}
	if a.Stream != c.o.Stream || a.Sequence == 0 {
		return 0, unknown(fmt.Errorf("stream %q answers with the number %d", a.Stream, a.Sequence))
	}
	return a.Sequence, nil
}

// expire gives up waiting for an answer.
func (c *Conn) expire(token uint64) {
	if p := c.take(token); p != nil {
		p.done(0, cluster.ErrUnknown)
		c.moveOn()
	}
}

// moveOn goes to another server if this one has acknowledged nothing since
// another append failed a time-out ago: it may be cut off from the others, which
// nothing else shows. While the log has no leader this changes nothing.
func (c *Conn) moveOn() {
	c.mu.Lock()
	if c.failing.IsZero() {
		c.failing = time.Now()
	}
	stuck := !c.closed && time.Since(c.failing) > c.o.AppendTimeout
	if stuck {
		c.failing = time.Time{}
	}
	c.mu.Unlock()
	if !stuck || len(c.o.URLs) < 2 || !c.up.Swap(false) {
		return
	}
	c.o.Log.Warn("the log acknowledges nothing: another server is tried")
	go func() {
		if err := c.nc.ForceReconnect(); err != nil {
			c.o.Log.Warn("cannot change the server", "err", err)
		}
	}()
}

// failAll gives up on every append without an answer, the oldest first.
func (c *Conn) failAll() {
	c.mu.Lock()
	all := c.pending
	c.pending = map[uint64]*pending{}
	c.mu.Unlock()
	time.AfterFunc(refusalDelay, func() {
		for _, token := range slices.Sorted(maps.Keys(all)) {
			all[token].timer.Stop()
			all[token].done(0, unknown(ErrNotConnected))
		}
	})
}

// MaxMessage is 4 MiB; see cluster.Log.
func (c *Conn) MaxMessage() int { return maxMessage }
