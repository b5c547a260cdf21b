package websocket

import (
	"errors"
	"sync"

	"engramd/internal/relay/fairness"
)

// corkBytes is how much the writer gathers before it calls the kernel. Bodies
// larger than corkLarge are handed over as they are instead of being copied, so
// that a writer held up by its client does not hold much.
const (
	corkBytes = 32 << 10
	corkLarge = 16 << 10

	directBytes = 128 << 10 // what is sent at most by whoever queued it
)

// writer is the sending side of one socket. Whoever finds it at rest and has
// queued something takes its role: it first sends what the socket takes at once
// (attempt), and what that leaves is sent by a goroutine (run). So most frames
// cost one system call and wake nobody, and no one but that goroutine waits for
// a client. It touches neither the inbox nor the subscriptions.
type writer struct {
	c      *conn
	direct bool // must not wait
	permit fairness.Permit
	taken  []frame // the batch
	left   []frame // of it, what is not yet encoded
	last   bool    // the batch was queued by cut, and is sent
	cork   []byte  // encoded, not yet sent
	bytes  int     // what these, and what was dropped, count in the outbox
	count  int
}

// writers are those at rest, shared because only writers at work need a buffer.
var writers = sync.Pool{New: func() any { return &writer{cork: make([]byte, 0, corkBytes+corkLarge)} }}

func newWriter(c *conn) *writer {
	w := writers.Get().(*writer)
	w.c, w.permit.Of = c, c.srv.permits
	return w
}

// free gives the writer to whoever comes next. It must hold nothing of its
// connection any more.
func (w *writer) free() {
	if cap(w.cork) > 4*corkBytes || cap(w.taken) > 1<<10 {
		return
	}
	*w = writer{cork: w.cork[:0], taken: w.taken[:0], permit: w.permit} // frames were forgotten as they were sent
	writers.Put(w)
}

// errBusy means that the write would block.
var errBusy = errors.New("the socket takes no more at once")

// write sends what is queued: as much as the socket takes at once from here,
// the rest from a goroutine. The outbox has said that the writer must be
// started.
func (c *conn) write() {
	if w := newWriter(c); !w.attempt() {
		go w.run()
	}
}

// attempt sends one batch without waiting. It reports false when there is
// something left that run must do.
func (w *writer) attempt() (rests bool) {
	failed := true
	defer func() {
		if failed {
			w.fail()
		}
	}()
	defer w.c.rescue("writer")
	w.direct = true
	var over bool
	var err error
	if rests, over = w.take(); !rests {
		if err = w.write(); err == nil {
			rests, over = w.take()
		}
	}
	switch {
	case err != nil && err != errBusy:
		w.stopped(err)
		return true
	case rests && !over:
		failed = false
		w.free()
		return true
	}
	failed, w.direct = false, false
	return false
}

// run writes what is queued until there is nothing left.
func (w *writer) run() {
	resting := false
	defer func() {
		if !resting {
			w.permit.Release()
			w.fail()
		}
	}()
	defer w.c.rescue("writer")
	for {
		w.permit.Acquire(w.c.charged())
		if err := w.write(); err != nil { // at first, what an attempt has left
			w.stopped(err)
			return
		}
		w.permit.Release()
		w.c.srv.countQueued()
		rests, over := w.take()
		if over {
			w.c.net.farewell(w.c.srv.limits.Load().Linger)
			w.c.out.over()
		}
		if rests {
			resting = true
			w.free()
			return
		}
	}
}

// fail ends the connection, whose socket is of no use.
func (w *writer) fail() {
	w.c.abort()
	w.c.out.over()
}

// stopped settles what an error has left.
func (w *writer) stopped(err error) {
	w.drop(w.left)
	w.settle()
	w.c.srv.countQueued()
	if errors.Is(err, errStalled) {
		w.c.record.because("the client does not read")
		w.c.srv.o.Metrics.SlowReaderCut("stalled")
	}
}

// take takes the next batch. If there is none, the writer rests, or is over if
// nothing will come.
func (w *writer) take() (rests, over bool) {
	next, rests, over := w.c.out.take(w.taken[:0])
	w.taken, w.left, w.last = next.frames, next.frames, next.last
	if next.pong != nil {
		w.cork = append(appendHeader(w.cork, opPong, len(next.pong)), next.pong...)
	}
	if next.ping {
		w.cork = appendHeader(w.cork, opPing, 0)
	}
	return rests, over
}

// write sends the batch with as few system calls as its size allows.
func (w *writer) write() error {
	sent := 0
	for len(w.left) > 0 {
		if !w.last && w.c.out.dropped.Load() {
			w.drop(w.left)
			clear(w.left)
			w.left = nil
			break
		}
		if w.direct && (sent >= directBytes || len(w.left[0].body) > corkLarge || w.compresses(&w.left[0])) {
			return errBusy // whoever queued it does not do this work: one dispatcher serves all clients
		}
		err := w.frame(&w.left[0])
		w.left[0] = frame{} // the event may be freed while others are sent
		w.left = w.left[1:]
		if err != nil {
			return err
		}
		if len(w.cork) >= corkBytes || w.bytes >= corkBytes {
			sent += len(w.cork)
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return w.flush()
}

// frame encodes one frame behind the others.
func (w *writer) frame(f *frame) error {
	w.bytes += f.size()
	w.count++
	w.c.record.framesOut.Add(1)
	switch {
	case w.compresses(f):
		w.cork = appendDeflated(w.cork, f)
	case f.body == nil:
		w.cork = append(appendHeader(w.cork, f.op, f.payload()), f.head...)
	case len(f.body) > corkLarge:
		return w.large(f)
	default:
		w.cork = append(appendHeader(w.cork, f.op, f.payload()), f.head...)
		w.cork = append(append(w.cork, f.body...), ']')
	}
	return nil
}

func (w *writer) compresses(f *frame) bool {
	return f.op == opText && w.c.net.compressed && f.payload() >= compressFromBytes
}

// large sends a frame whose body is not copied as a whole, and what is before
// it.
func (w *writer) large(f *frame) error {
	w.cork = append(appendHeader(w.cork, f.op, f.payload()), f.head...)
	fits := min(max(corkBytes-len(w.cork), 0), len(f.body))
	w.cork = append(w.cork, f.body[:fits]...)
	if err := w.send(); err != nil {
		return err
	}
	if err := w.sendAll(f.body[fits:]); err != nil {
		return err
	}
	w.cork = append(w.cork, ']')
	return nil
}

// flush sends what is encoded and takes it off the outbox.
func (w *writer) flush() error {
	if err := w.send(); err != nil {
		return err
	}
	w.settle()
	return nil
}

// send writes what is encoded to the socket.
func (w *writer) send() error {
	if !w.direct {
		err := w.sendAll(w.cork)
		w.cork = w.cork[:0]
		return err
	}
	n, err := w.c.net.attempt(w.cork)
	w.cork = w.cork[:copy(w.cork, w.cork[n:])]
	if err == nil && len(w.cork) > 0 {
		return errBusy
	}
	return err
}

// sendAll sends p, however long that takes; others compute while it waits.
func (w *writer) sendAll(p []byte) error {
	n, err := w.c.net.attempt(p)
	if p = p[n:]; err != nil || len(p) == 0 {
		return err
	}
	w.permit.Release()
	defer w.permit.Acquire(w.c.charged())
	return w.c.net.send(p)
}

// settle takes off the outbox what was sent or will never be.
func (w *writer) settle() {
	if w.count > 0 {
		w.c.out.written(w.bytes, w.count, w.c.srv.limits.Load().QueueMark)
		w.bytes, w.count = 0, 0
	}
}

// drop is for frames that will not be sent.
func (w *writer) drop(frames []frame) {
	for i := range frames {
		w.bytes += frames[i].size()
		w.count++
	}
}
