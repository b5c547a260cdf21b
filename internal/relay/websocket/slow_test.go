package websocket

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
)

// endless is a stream of n events of the largest size, made one page at a time.
// open counts the rows that were given and not yet sent.
type endless struct {
	left, size int
	given      chan int
}

func (e *endless) Next(ctx context.Context, maxRows, maxBytes int) (rows []store.Row, done bool, err error) {
	for size := 0; e.left > 0 && len(rows) < maxRows && size < maxBytes; e.left-- {
		rows = append(rows, store.Row{JSON: wire.AppendEvent(nil, big(e.left, e.size))})
		size += e.size
	}
	if e.given != nil {
		select {
		case e.given <- len(rows):
		case <-ctx.Done(): // the client was cut off before the test came to take it
			return nil, false, ctx.Err()
		}
	}
	return rows, e.left == 0, nil
}
func (e *endless) More() bool               { return false }
func (e *endless) Damaged() []store.Damaged { return nil }
func (e *endless) Complete() bool           { return false }

// A client that reads slowly but steadily gets 5,000 engrams of the largest
// size in one REQ, and the relay holds no more than a page and the mark for it.
func TestFiveThousandLargestEngrams(t *testing.T) {
	const size = 88_000
	n := 5000
	if testing.Short() {
		n = 500
	}
	f := &fake{stored: func([]relay.Granted, int64) Stream { return &endless{left: n, size: size} }}
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	most := int64(0)
	for i := range n {
		c.ws.SetReadDeadline(time.Now().Add(patience))
		_, body, err := c.ws.NextReader()
		if err != nil {
			t.Fatalf("after %d events: %v", i, err)
		}
		got, err := io.Copy(io.Discard, body)
		if err != nil || got < size {
			t.Fatalf("event %d: %d bytes, %v", i, got, err)
		}
		most = max(most, r.queued.Load())
	}
	c.expect(`["EOSE","s"]`)
	lim := r.Server.limits.Load()
	if bound := int64(lim.QueueMark + pageBytes + 2*size); most > bound {
		t.Errorf("%d bytes were queued, want at most %d", most, bound)
	}
	if got := r.count.get("cut stalled") + r.count.get("cut overflow"); got != 0 {
		t.Errorf("a client that reads was cut off")
	}
}

// The query pauses while the client does not read: no page is asked for above
// the mark.
func TestStoredResultsPauseAboveTheMark(t *testing.T) {
	e := &endless{left: 1 << 30, size: 64 << 10, given: make(chan int)}
	f := &fake{stored: func([]relay.Granted, int64) Stream { return e }}
	r := start(t, f, Options{Limits: Limits{Stall: time.Second}})
	c := r.dial(t, smallBuffer)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	rows := 0
	for paused := false; !paused; {
		select {
		case n := <-e.given:
			rows += n
			if rows > 1000 {
				t.Fatal("the query does not pause")
			}
		case <-r.Server.signal("cut stalled", r.count): // it paused until the client was cut off
			paused = true
		}
	}
	if q := r.queued.Load(); q > 1<<20 {
		t.Errorf("%d bytes queued", q)
	}
	r.count.await(t, "open", 0)
	if q := r.queued.Load(); q != 0 {
		t.Errorf("%d bytes are counted as queued after the connection ended", q)
	}
}

// signal is closed when something has been counted.
func (s *Server) signal(what string, m *counted) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		for {
			m.mu.Lock()
			n, changed := m.n[what], m.changed
			m.mu.Unlock()
			if n > 0 {
				close(done)
				return
			}
			<-changed
		}
	}()
	return done
}

// khatru 0.19.1: writes have no deadline and happen in the publisher's
// goroutine, so that a client that does not read stops every publisher
// (docs/khatru.md).
func TestKhatruFault_SlowReaderStopsPublishers(t *testing.T) {
	f := &fake{}
	r := start(t, f, Options{Limits: Limits{Stall: 500 * time.Millisecond, QueueBytes: 1 << 30, QueueFrames: 1 << 30}})
	never, good := r.dial(t, smallBuffer), r.dial(t)
	for _, c := range []*client{never, good} {
		c.send(`["REQ","s",{"kinds":[1],"limit":0}]`)
		c.expect(`["EOSE","s"]`)
	}
	text := strings.Repeat("y", 100<<10)
	cut := r.signal("cut stalled", r.count)
	for i := 0; ; i++ {
		ev := event(t, alice, 1, fmt.Sprint(i, text))
		good.send(eventFrame(ev))
		got := []string{good.recv(), good.recv()}
		if got[0] != okFrame(ev) && got[1] != okFrame(ev) {
			t.Fatalf("no OK for event %d", i)
		}
		select {
		case <-cut:
			r.count.await(t, "open", 1)
			return
		default:
		}
	}
}

// Live events that overflow a client's queue cut it off, and it is told so when
// it reads again.
func TestLiveEventsOverflowAQueue(t *testing.T) {
	for name, lim := range map[string]Limits{
		"bytes":  {QueueBytes: 1 << 20},
		"frames": {QueueBytes: 1 << 30, QueueFrames: 20},
		"share":  {QueueBytes: 1 << 30, QueueFrames: 1 << 30, QueueMark: 1 << 20, QueueShare: 2 << 20},
		"total":  {QueueBytes: 1 << 30, QueueFrames: 1 << 30, QueueMark: 1 << 20, QueueTotal: 2 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			lim.Stall = patience // it reads once it is cut off, however late
			f := &fake{}
			r := start(t, f, Options{Limits: lim})
			c := r.dial(t)
			c.send(`["REQ","s",{"kinds":[1],"limit":0}]`)
			c.expect(`["EOSE","s"]`)
			cut := r.signal("cut overflow", r.count)
			for i := 0; ; i++ {
				f.dispatch(f.put(big(i, 64<<10)))
				select {
				case <-cut:
				default:
					continue
				}
				break
			}
			last := ""
			for {
				s, err := c.read()
				if err != nil {
					break
				}
				last = s
			}
			if last != `["NOTICE","error: live events came faster than you read them"]` {
				t.Errorf("the last frame is %.200s", last)
			}
			r.count.await(t, "open", 0)
			r.count.await(t, "subscriptions", 0)
			if n := r.count.get("cut overflow"); n != 1 || r.queued.Load() != 0 {
				t.Errorf("counted %d times, %d bytes still queued", n, r.queued.Load())
			}
		})
	}
}

// What waits for EOSE is bounded too.
func TestLiveEventsOverflowBeforeEOSE(t *testing.T) {
	release := make(chan struct{})
	f := &fake{}
	f.stored = func([]relay.Granted, int64) Stream {
		return &gatedStream{pages: [][]store.Row{nil}, next: func(int) { <-release }}
	}
	r := start(t, f, Options{Limits: Limits{QueueBytes: 1 << 20}})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	r.count.await(t, "subscriptions", 1)
	for r.count.get("cut overflow") == 0 {
		f.dispatch(f.put(big(1, 64<<10)))
		runtime.Gosched()
	}
	close(release)
	c.expect(`["NOTICE","error: live events came faster than you read them"]`)
	r.count.await(t, "open", 0)
	if q := r.queued.Load(); q != 0 {
		t.Errorf("%d bytes still queued", q)
	}
}

// Pongs alone do not keep a client alive that reads nothing.
func TestPongsDoNotKeepAStuckClientAlive(t *testing.T) {
	e := &endless{left: 1 << 30, size: 64 << 10}
	f := &fake{stored: func([]relay.Granted, int64) Stream { return e }}
	r := start(t, f, Options{Limits: Limits{Stall: 500 * time.Millisecond}})
	c := r.dial(t, smallBuffer)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	cut := r.signal("cut stalled", r.count)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		select {
		case <-tick.C:
			c.ws.WriteControl(10, nil, time.Now().Add(patience)) // pong
			continue
		case <-cut:
		case <-deadline:
			t.Fatal("not cut off")
		}
		return
	}
}

// A flood of one address, by however many connections, delays another's events
// by little: the pool takes turns.
func TestTheVerifierTakesTurns(t *testing.T) {
	v := &verifier{}
	v.ready.L = &v.mu
	of := func(address string, n uint64) *conn {
		c := &conn{}
		c.who.Store(&fairness.Who{Share: address, Conn: n})
		return c
	}
	polite, neighbour := of("192.0.2.2", 0), of("192.0.2.1", 1000)
	for i := range uint64(100) {
		flood := of("192.0.2.1", i)
		for range 10 {
			v.add(flood, &job{size: 100})
		}
	}
	for range 2 {
		v.add(polite, &job{size: 100})
		v.add(neighbour, &job{size: 100})
	}
	last := map[*conn]int{}
	for i := range 1004 {
		last[v.next().owner] = i
	}
	if last[polite] > 4 {
		t.Errorf("the polite client's second event came as number %d", last[polite]+1)
	}
	if last[neighbour] > 210 { // of the same address, with a hundred others
		t.Errorf("its neighbour's second event came as number %d", last[neighbour]+1)
	}
}

// One dispatcher serves all clients: compressing for each of them is left to
// their own goroutines.
func TestWhoeverQueuesAFrameDoesNotCompressIt(t *testing.T) {
	r := start(t, &fake{}, Options{})
	c := r.dial(t, func(d *websocket.Dialer) { d.EnableCompression = true })
	conn := onlyConn(t, r.Server)
	settled(t, conn)
	for text, rests := range map[string]bool{`["NOTICE","short"]`: true, `["NOTICE","` + strings.Repeat("long", compressFromBytes) + `"]`: false} {
		conn.say([]byte(text))
		if !conn.out.ready() {
			t.Fatal("somebody else writes")
		}
		w := newWriter(conn)
		if got := w.attempt(); got != rests {
			t.Errorf("%d bytes: sent at once %v, want %v", len(text), got, rests)
		} else if !got {
			go w.run()
		}
		c.expect(text)
		settled(t, conn)
	}
}

// settled waits until nobody writes any more.
func settled(t *testing.T, c *conn) {
	t.Helper()
	for {
		c.out.mu.Lock()
		running := c.out.running
		c.out.mu.Unlock()
		if !running {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("the writer does not come to rest")
		}
		runtime.Gosched()
	}
}
