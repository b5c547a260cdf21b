package websocket

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/protocol/wire"
)

// scratch are the readers' buffers, shared because only those that are within a
// message need one.
var scratch = sync.Pool{New: func() any { return new(make([]byte, 0, 4<<10)) }}

func putScratch(b *[]byte) {
	if cap(*b) <= 64<<10 {
		*b = (*b)[:0]
		scratch.Put(b)
	}
}

// errHuge means that a message is too large to be read to its end.
var errHuge = errors.New("message beyond the hard cap")

// read takes messages off the socket until the client is gone or the connection
// ends, and returns the code to close with, 0 for none.
func (c *conn) read() (code int) {
	for {
		kind, body, err := c.ws.NextReader()
		if errors.Is(err, websocket.ErrReadLimit) {
			c.hand(c.tooLarge(nil))
		}
		if err != nil {
			return c.readEnded(err)
		}
		j, err := c.message(kind, body)
		if j != nil && !c.hand(j) && c.net.lingering() {
			return 0 // what still comes is thrown away without being looked at
		}
		if err != nil {
			return c.readEnded(err)
		}
	}
}

// message reads one message; what is wrong with it as a message becomes the
// job's fault. A job may come with an error: then it is the last one. What is
// held for it is counted from its first byte on, and is the job's in the end.
func (c *conn) message(kind int, body io.Reader) (j *job, err error) {
	lim := c.srv.limits.Load()
	buf := scratch.Get().(*[]byte)
	defer putScratch(buf)
	claimed := int64(0)
	defer func() {
		if j == nil || !c.claim(&claimed, int64(j.size)) {
			c.held.Give(claimed)
		}
	}()
	if c.net.compressed && !c.claim(&claimed, inflatingBytes) {
		return nil, errStopped
	}
	size, err := c.fill(buf, body, lim.MessageBytes, &claimed)
	if err != nil {
		return nil, err
	}
	switch {
	case size > lim.MessageBytes:
		// Its two ends are kept, so that the answer can name what it refuses.
		tail, err := skip(body, (*buf)[size-min(size, keptEndBytes):], hardCap(lim)-size)
		return c.tooLarge(append(bytes.Clone((*buf)[:min(size, keptEndBytes)]), tail...)), err
	case kind == websocket.BinaryMessage:
		c.srv.o.Metrics.FrameRefused("invalid")
		return &job{size: jobBytes, fault: "invalid: messages must be text, not binary"}, nil
	}
	j = &job{raw: bytes.Clone(*buf)}
	j.size = j.weight()
	j.pooled = looksLikeEvent(j.raw)
	return j, nil
}

// errStopped means that nothing is read any more.
var errStopped = errors.New("the connection is being closed")

// inflatingBytes is what decompressing a message holds.
const inflatingBytes = 48 << 10

// claimPatience is how long a message waits for room before those who hold most
// are cut off for it.
const claimPatience = time.Second

// claim takes more bytes of memory for what is read, or gives back what is too
// much, until n are claimed. It waits until there is room, and reports false
// when nothing is read any more.
func (c *conn) claim(claimed *int64, n int64) bool {
	more := n - *claimed
	if more <= 0 {
		c.held.Give(-more)
		*claimed = n
		return true
	}
	if !c.held.TryTake(more) {
		c.permit.Release()
		if !c.held.Await(c.in.stopped, more, time.Duration(c.srv.claims.Load())) {
			return false
		}
		c.permit.Acquire(c.charged())
	}
	*claimed = n
	return true
}

// fill reads a message into buf, but not more than one byte beyond most. What
// buf grows to is claimed before it grows.
func (c *conn) fill(buf *[]byte, body io.Reader, most int, claimed *int64) (size int, err error) {
	b := (*buf)[:0]
	defer func() { *buf = b }()
	for len(b) <= most {
		if len(b) == cap(b) {
			larger := min(8*cap(b), most+1)
			if !c.claim(claimed, *claimed+int64(larger)) {
				return 0, errStopped
			}
			b = append(make([]byte, 0, larger), b...)
		}
		n, err := body.Read(b[len(b):min(cap(b), most+1)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return len(b), nil
		}
		if err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// keptEndBytes is how much is kept of either end of a message that is too
// large.
const keptEndBytes = 1 << 10

// tooLarge returns the job for a message of which only a part was kept.
func (c *conn) tooLarge(part []byte) *job {
	c.srv.o.Metrics.FrameRefused("too_large")
	return &job{raw: part, size: jobBytes + len(part), fault: tooLargeText(c.srv.limits.Load())}
}

func tooLargeText(lim *Limits) string {
	return fmt.Sprintf("invalid: a message may have at most %d bytes", lim.MessageBytes)
}

// skip reads the rest of a message that is too large, up to a point, and
// returns its end; tail is the end of what was read before.
func skip(body io.Reader, tail []byte, most int) ([]byte, error) {
	tail = bytes.Clone(tail)
	chunk := make([]byte, 4<<10)
	for skipped := 0; ; {
		n, err := body.Read(chunk)
		tail = append(tail, chunk[:n]...)
		tail = append(tail[:0], tail[len(tail)-min(len(tail), keptEndBytes):]...)
		if err == io.EOF {
			return tail, nil
		}
		if err != nil {
			return nil, err
		}
		if skipped += n; skipped > most {
			return nil, errHuge
		}
	}
}

// hand puts a job into the inbox, and waits while that is full or the client
// sends too fast; false when nothing is taken any more.
func (c *conn) hand(j *job) bool {
	c.record.framesIn.Add(1)
	c.pace()
	for {
		taken, start := c.in.put(j, c.srv.limits.Load())
		if taken && j.pooled {
			c.srv.o.Metrics.QueueAdd(queueVerify, 1)
			c.srv.verifier.add(c, j)
		}
		if start {
			go c.effects.run()
		}
		if taken {
			return true
		}
		c.permit.Release()
		select {
		case <-c.in.room:
		case <-c.in.stopped:
			c.held.Give(int64(j.size))
			return false
		}
		c.permit.Acquire(c.charged())
	}
}

// answered frees what a message that was taken out of the inbox counted.
func (c *conn) answered(size int) {
	c.in.answered(size)
	c.held.Give(int64(size))
}

// pace waits until the client's frame rate allows one more. Meanwhile nothing
// is read, which the client's own socket tells it.
func (c *conn) pace() {
	now := c.srv.o.Now()
	delay := max(c.rate.ReserveN(now, 1).DelayFrom(now), c.over.wait(now))
	if delay <= 0 {
		return
	}
	c.srv.o.Metrics.ReadPaused()
	c.permit.Release()
	defer func() { c.permit.Acquire(c.charged()) }()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.in.stopped:
	}
}

// readEnded reports how to close after what ended reading.
func (c *conn) readEnded(err error) (code int) {
	var closed *websocket.CloseError
	var timeout net.Error
	switch {
	case errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure:
		c.saidBye = true
		c.record.because("the client said goodbye")
		if closed.Code == websocket.CloseNoStatusReceived {
			return websocket.CloseNormalClosure
		}
		return closed.Code
	case errors.Is(err, errHuge), errors.Is(err, websocket.ErrReadLimit):
		c.record.because("a message beyond the hard cap")
		return websocket.CloseMessageTooBig
	case errors.As(err, &timeout) && timeout.Timeout() && !c.net.lingering():
		c.srv.o.Metrics.SlowReaderCut("ping")
		c.record.because("the client gave no sign of life")
		c.abort()
		return 0
	default:
		code := int(c.net.closeCode.Load()) // a breach of the protocol, or 0
		if code != 0 {
			c.record.because("a breach of the websocket protocol")
		}
		return code
	}
}

// These find what a message that is too large to be parsed is about.
var (
	hugeEvent = regexp.MustCompile(`^\s*\[\s*"EVENT"\s*,\s*\{`)
	hugeID    = regexp.MustCompile(`"id"\s*:\s*"([0-9a-f]{64})"`)
	hugeSub   = regexp.MustCompile(`^\s*\[\s*"(?:REQ|COUNT|(NEG-OPEN|NEG-MSG))"\s*,\s*"([^"\\\x00-\x1f]{1,64})"`)
)

// hugeSync is the id of the reconciliation that the answer to a message with a
// fault ends; "" for none.
func hugeSync(j *job) string {
	if sub := hugeSub.FindSubmatch(j.raw); sub != nil && sub[1] != nil && !hugeEvent.Match(j.raw) {
		return string(sub[2])
	}
	return ""
}

// faultAnswers returns the answers to a message with a fault: one that names
// the event or subscription where its beginning tells, and a NOTICE in any
// case.
func faultAnswers(j *job) (answers [][]byte) {
	if hugeEvent.Match(j.raw) {
		if id := hugeID.FindSubmatch(j.raw); id != nil {
			answers = append(answers, wire.AppendOK(nil, string(id[1]), false, j.fault))
		}
	} else if sub := hugeSub.FindSubmatch(j.raw); sub != nil && sub[1] != nil {
		answers = append(answers, wire.AppendNegErr(nil, string(sub[2]), j.fault))
	} else if sub != nil {
		answers = append(answers, wire.AppendClosed(nil, string(sub[2]), j.fault))
	}
	return append(answers, wire.AppendNotice(nil, j.fault))
}
