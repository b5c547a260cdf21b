package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
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

// appends are those without an answer.
type appends struct {
	mu      sync.Mutex
	closed  bool
	last    uint64 // the newest token
	pending map[uint64]*pending
	failing time.Time // since when this server acknowledges nothing; zero if it does
}

// put adds an append, of which there are at most so many. The error says that
// there is no room, or no connection any more.
func (a *appends) put(most int, done func(uint64, error), limit time.Duration, expire func(token uint64)) (uint64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return 0, ErrNotConnected
	case len(a.pending) >= most:
		return 0, ErrBusy
	}
	a.last++
	token := a.last
	a.pending[token] = &pending{done: done, timer: time.AfterFunc(limit, func() { expire(token) })}
	return token, nil
}

// acknowledged notes that the server does so, and reports whether no more are
// taken.
func (a *appends) acknowledged() (closed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failing = time.Time{}
	return a.closed
}

// stuck notes that one failed, and reports whether nothing was acknowledged since
// another one failed so long ago.
func (a *appends) stuck(limit time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failing.IsZero() {
		a.failing = time.Now()
	}
	stuck := !a.closed && time.Since(a.failing) > limit
	if stuck {
		a.failing = time.Time{}
	}
	return stuck
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
	token, err := c.appends.put(c.o.InFlight, done, c.o.AppendTimeout, c.expire)
	if err != nil {
		refuse(done, err)
		return
	}
	// Some of it may have been written before an error.
	if err = c.nc.PublishRequest(c.subject(), c.inbox+"."+strconv.FormatUint(token, 36), message); err != nil {
		if p := c.appends.take(token); p != nil {
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
func (a *appends) take(token uint64) *pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pending[token]
	if p != nil {
		delete(a.pending, token)
		p.timer.Stop()
	}
	return p
}

func (c *Conn) answered(m *nats.Msg) {
	token, err := strconv.ParseUint(m.Subject[len(c.inbox)+1:], 36, 64)
	if err != nil {
		return
	}
	p := c.appends.take(token)
	if p == nil { // too late
		return
	}
	number, err := readAnswer(m, c.o.Stream)
	switch {
	case err == nil:
		c.appends.acknowledged()
		p.done(number, nil)
	case errors.Is(err, cluster.ErrUnknown):
		p.done(0, err)
	default:
		refuse(p.done, err)
		c.moveOn()
	}
}

// readAnswer reads the answer to an append.
func readAnswer(m *nats.Msg, stream string) (uint64, error) {
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
	if a.Stream != stream || a.Sequence == 0 {
		return 0, unknown(fmt.Errorf("stream %q answers with the number %d", a.Stream, a.Sequence))
	}
	return a.Sequence, nil
}

// expire gives up waiting for an answer.
func (c *Conn) expire(token uint64) {
	if p := c.appends.take(token); p != nil {
		p.done(0, cluster.ErrUnknown)
		c.moveOn()
	}
}

// moveOn goes to another server if this one has acknowledged nothing since
// another append failed a time-out ago: it may be cut off from the others, which
// nothing else shows. While the log has no leader this changes nothing.
func (c *Conn) moveOn() {
	if !c.appends.stuck(c.o.AppendTimeout) || len(c.o.URLs) < 2 || !c.up.Swap(false) {
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
func (a *appends) failAll() {
	a.mu.Lock()
	all := a.pending
	a.pending = map[uint64]*pending{}
	a.mu.Unlock()
	time.AfterFunc(refusalDelay, func() {
		for _, token := range slices.Sorted(maps.Keys(all)) {
			all[token].timer.Stop()
			all[token].done(0, unknown(ErrNotConnected))
		}
	})
}

// MaxMessage is 4 MiB; see cluster.Log.
func (c *Conn) MaxMessage() int { return maxMessage }
