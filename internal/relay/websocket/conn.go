package websocket

import (
	"context"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
)

// conn is one connection: its three actors and what lies between them. The
// goroutine that runs serve is the reader, and it ends the connection.
type conn struct {
	srv       *Server
	ws        *websocket.Conn // for reading only
	net       *transport
	challenge string
	entered   fairness.Who // whom it is charged to before it proves a key
	record    record
	rate      *rate.Limiter
	pings     *time.Timer

	ctx    context.Context // ends when nothing more is to be executed
	cancel context.CancelFunc
	asking context.Context // ends when nothing more is to be answered
	unask  context.CancelFunc

	who     atomic.Pointer[fairness.Who] // whom its work is charged to; see charged
	filters *fairness.Stake              // memory of its subscriptions
	held    *fairness.Stake              // memory of messages being read, and read and not yet answered
	syncs   syncs

	permit fairness.Permit // of the reader

	over    overRate
	in      inbox
	out     outbox
	effects effects
	feed    feed

	effectsOver chan struct{} // closed when effects will not run again
	code        atomic.Int32  // the code to close with; the first that is set
	draining    atomic.Bool   // the relay shuts down
	saidBye     bool          // the client sent its close frame; for the reader
}

func newConn(s *Server, ws *websocket.Conn, t *transport, addr netip.Addr, who fairness.Who, challenge string) *conn {
	lim := s.limits.Load()
	c := &conn{srv: s, ws: ws, net: t, challenge: challenge, entered: who, effectsOver: make(chan struct{})}
	c.record.srv, c.record.net = s, t
	c.record.number, c.record.addr, c.record.opened = s.connections.Add(1), addr, s.o.Now()
	c.rate = rate.NewLimiter(rate.Limit(lim.FramesRate), lim.FramesBurst)
	c.ctx, c.cancel = context.WithCancel(fairness.With(relay.WithAddr(context.Background(), addr), who))
	c.asking, c.unask = context.WithCancel(c.ctx)
	c.in.init()
	c.out.init(&s.queued, s.queues.enter(who))
	c.effects = effects{c: c, ctx: c.ctx, asking: c.asking, who: who}
	c.who.Store(&who)
	c.feed.c = c
	c.permit.Of, c.effects.permit.Of, c.feed.permit.Of = s.permits, s.permits, s.permits
	t.waits, t.works = c.permit.Release, func() { c.permit.Acquire(c.charged()) }
	c.filters = s.filters.Open(who, c.feed.giveWay)
	c.held = s.messages.Open(who, c.outOfMemory)
	c.syncs.c, c.syncs.stake = c, s.syncing.Open(who, c.syncs.giveWay)
	s.live.enter(&c.feed)
	c.pings = time.AfterFunc(time.Hour, c.ping) // serve sets the time
	ws.SetPingHandler(c.pinged)
	ws.SetCloseHandler(func(int, string) error { return nil })
	return c
}

// serve runs the connection from its first frame to its last.
func (c *conn) serve() {
	defer c.end()
	c.record.logOpened()
	c.pings.Reset(c.srv.limits.Load().PingEvery)
	c.talk()
	c.stop(0)
	<-c.effectsOver
	<-c.out.done
	if !c.saidBye {
		c.net.drain()
	}
}

// charged returns whom work for the connection is charged to at this moment.
func (c *conn) charged() fairness.Who { return *c.who.Load() }

// talk greets the client and reads until it is gone.
func (c *conn) talk() {
	defer c.rescue("reader")
	c.srv.backend.Connected(c.ctx)
	c.say(wire.AppendAuthChallenge(nil, c.challenge))
	c.flush()
	defer c.permit.Release()
	c.stop(c.read())
}

// say queues a text frame; flush sends it.
func (c *conn) say(text []byte) { c.out.push(frame{op: opText, head: text}) }

// flush sends what say has queued.
func (c *conn) flush() {
	if c.out.ready() {
		c.write()
		c.srv.countQueued()
	}
}

// stop lets no more messages in. Effects finishes what it has and then has the
// writer close the connection, with the code that was given first. What is read
// of the store for the client is not finished: there is nobody to read it.
func (c *conn) stop(code int) {
	c.code.CompareAndSwap(0, int32(code))
	c.unask()
	if c.in.close() {
		go c.effects.run()
	}
}

// cut ends the connection for a reason that the client is told, without
// executing or sending anything that waits.
func (c *conn) cut(notice string, code int) (first bool) {
	c.cancel()
	c.record.because(notice)
	var text []byte
	if notice != "" {
		text = wire.AppendNotice(nil, notice)
	}
	first, start := c.out.cut(text, code, notice)
	if start {
		go newWriter(c).run()
	}
	c.stop(code)
	return first
}

// overflow cuts off a client that reads too slowly for its live events.
func (c *conn) overflow() {
	if c.cut("error: live events came faster than you read them", websocket.CloseTryAgainLater) {
		c.srv.o.Metrics.SlowReaderCut("overflow")
	}
}

// outOfMemory ends a connection that holds more of what was read than any
// other, while others wait.
func (c *conn) outOfMemory() bool {
	if !c.cut("error: the relay is short of memory for messages, and yours hold most of it", websocket.CloseTryAgainLater) {
		return false
	}
	c.srv.o.Metrics.SlowReaderCut("memory")
	return true
}

// abort ends the connection without a farewell: its socket is of no use, or its
// time is over. EVENTs that were read are still executed.
func (c *conn) abort() {
	c.stop(0)
	c.net.abort()
	c.out.abandon()
}

// kill is abort without executing anything more.
func (c *conn) kill() {
	c.cancel()
	c.abort()
}

// rescue is deferred by every goroutine that works for a connection: a panic
// ends that connection and nothing else. What was panicked with may hold a
// client's text, so that only its type, or the runtime's own words, are logged.
func (c *conn) rescue(where string) {
	v := recover()
	if v == nil {
		return
	}
	attrs := []any{"where", where, "stack", string(debug.Stack())}
	if err, ok := v.(runtime.Error); ok {
		attrs = append(attrs, "err", err.Error())
	}
	c.srv.o.Log.Error("a panic ended a connection", attrs...)
	c.srv.panics.Add(1)
	c.cut("error: the relay made a mistake", websocket.CloseInternalServerErr)
}

// ping is called by a timer.
func (c *conn) ping() {
	if c.in.isClosed() {
		return
	}
	if c.out.control(true, nil) {
		go newWriter(c).run()
	}
	c.pings.Reset(c.srv.limits.Load().PingEvery)
}

// pinged answers a ping; it runs in the reader.
func (c *conn) pinged(payload string) error {
	c.pace()
	if c.out.control(false, []byte(payload)) {
		go newWriter(c).run()
	}
	return nil
}

// end takes the connection out of everything, once.
func (c *conn) end() {
	c.pings.Stop()
	c.unask()
	c.cancel()
	c.net.Close()
	c.effects.leave()
	c.feed.end()
	c.srv.live.leave(&c.feed)
	c.filters.Close()
	c.held.Close()
	c.syncs.stake.Close()
	c.srv.queues.leave(c.out.share)
	func() {
		defer c.rescue("disconnect")
		c.srv.backend.Disconnected(context.WithoutCancel(c.effects.ctx))
	}()
	c.record.logEnded()
	c.srv.remove(c)
}
