package session

import (
	"errors"
	"sync"
)

// corkBytes is how much the writer gathers before it calls the kernel. Bodies
// larger than corkLarge are handed over as they are instead of being copied, so
// that a writer held up by its client does not hold much.
const (
	corkBytes = 32 << 10
	corkLarge = 16 << 10
)

// corks are the writers' buffers, shared because only running writers need one.
type corks struct{ pool sync.Pool }

func (p *corks) get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, corkBytes+corkLarge)
}

func (p *corks) put(b []byte) {
	if cap(b) <= 4*corkBytes {
		p.pool.Put(&b)
	}
}

// writer owns the sending side of one socket. It runs while its outbox has
// something, and is the only one that writes after the upgrade. It touches
// neither the inbox nor the subscriptions.
type writer struct {
	c     *conn
	cork  []byte // encoded, not yet sent
	bytes int    // what these, and what was dropped, count in the outbox
	count int
}

func newWriter(c *conn) *writer { return &writer{c: c} }

// run writes what is queued until there is nothing left.
func (w *writer) run() {
	resting := false
	defer func() {
		if !resting {
			w.c.abort()
			w.c.out.over()
		}
	}()
	defer w.c.rescue("writer")
	w.cork = w.c.srv.corks.get()
	defer func() { w.c.srv.corks.put(w.cork) }()
	var spare []frame
	for {
		next, rests, over := w.c.out.take(spare)
		if over {
			w.c.net.farewell(w.c.srv.limits.Load().Linger)
			w.c.out.over()
			resting = true
			return
		}
		if rests {
			resting = true
			return
		}
		if err := w.write(next); err != nil {
			w.settle()
			if errors.Is(err, errStalled) {
				w.c.srv.metrics.SlowReaderCut("stalled")
				w.c.srv.log.Debug("client cut off", "reason", "stalled")
			}
			return
		}
		spare = next.frames[:0]
	}
}

// write sends one batch with as few system calls as its size allows.
func (w *writer) write(next batch) error {
	if next.pong != nil {
		w.cork = append(appendHeader(w.cork, opPong, len(next.pong)), next.pong...)
	}
	if next.ping {
		w.cork = appendHeader(w.cork, opPing, 0)
	}
	for i := range next.frames {
		if !next.last && w.c.out.dropped.Load() {
			w.drop(next.frames[i:])
			clear(next.frames[i:])
			break
		}
		if err := w.frame(&next.frames[i]); err != nil {
			w.drop(next.frames[i+1:])
			return err
		}
		next.frames[i] = frame{} // the event may be freed while others are sent
	}
	return w.flush()
}

// frame encodes one frame behind the others, and sends them when they are many.
func (w *writer) frame(f *frame) error {
	w.bytes += f.size()
	w.count++
	switch {
	case f.op == opText && w.c.net.compressed && f.payload() >= compressFrom:
		w.cork = w.c.srv.deflaters.appendFrame(w.cork, f)
	case f.body == nil:
		w.cork = append(appendHeader(w.cork, f.op, f.payload()), f.head...)
	default:
		w.cork = append(appendHeader(w.cork, f.op, f.payload()), f.head...)
		rest := f.body
		if len(rest) > corkLarge {
			fits := max(corkBytes-len(w.cork), 0)
			w.cork = append(w.cork, rest[:min(fits, len(rest))]...)
			rest = rest[min(fits, len(rest)):]
			if err := w.send(); err != nil {
				return err
			}
			if err := w.c.net.send(rest); err != nil {
				return err
			}
			rest = nil
		}
		w.cork = append(append(w.cork, rest...), ']')
	}
	if len(w.cork) >= corkBytes || w.bytes >= corkBytes {
		return w.flush()
	}
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

func (w *writer) send() error {
	err := w.c.net.send(w.cork)
	w.cork = w.cork[:0]
	return err
}

// settle takes off the outbox what was sent or will never be.
func (w *writer) settle() {
	w.c.out.written(w.bytes, w.count, w.c.srv.limits.Load().QueueMark)
	w.bytes, w.count = 0, 0
	w.c.srv.countQueued()
}

// drop is for frames that will not be sent.
func (w *writer) drop(frames []frame) {
	for i := range frames {
		w.bytes += frames[i].size()
		w.count++
	}
}
