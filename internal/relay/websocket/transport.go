package websocket

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// errStalled means that the client took nothing for too long.
var errStalled = errors.New("the client does not read")

// chunkBytes is how much is handed to the kernel at once: the deadline of a
// write is renewed for each chunk, and for each part of one that was taken.
const chunkBytes = 64 << 10

// transport is the socket under the websocket library. It gives up on a client
// that is silent or does not read, and it keeps the library from writing: once
// the session has started, only its writer writes.
type transport struct {
	net.Conn
	raw            syscall.RawConn // the same socket; nil where there is none
	silence, stall time.Duration
	waits, works   func() // told before Read waits, and when something has come

	started    bool // set before the session's goroutines start
	compressed bool // permessage-deflate was agreed on

	in, out   atomic.Int64 // bytes on the wire
	until     atomic.Int64 // after farewell: when reading ends, in Unix nanoseconds
	closeCode atomic.Int32 // the code that the library wanted to close with
}

// Read reads what the client sent; each wait is bounded by silence.
func (t *transport) Read(p []byte) (int, error) {
	if t.started {
		t.waits()
		defer t.works()
	}
	t.Conn.SetReadDeadline(time.Now().Add(t.silence))
	if until := t.until.Load(); until != 0 { // farewell may have come between
		t.Conn.SetReadDeadline(time.Unix(0, until))
	}
	n, err := t.Conn.Read(p)
	t.in.Add(int64(n))
	return n, err
}

// Write is called by the websocket library only: for the answer to the upgrade,
// which goes out, and later for a close frame after a breach of the protocol,
// whose code is kept for the session.
func (t *transport) Write(p []byte) (int, error) {
	if !t.started {
		t.compressed = bytes.Contains(p, []byte("\r\nSec-WebSocket-Extensions: permessage-deflate"))
		return t.Conn.Write(p)
	}
	if len(p) >= 4 && p[0]&0x0f == websocket.CloseMessage {
		t.closeCode.CompareAndSwap(0, int32(binary.BigEndian.Uint16(p[2:])))
	}
	return len(p), nil
}

// send writes all of p, however slowly the client reads, unless it takes
// nothing for the time of a stall. Deadlines are set only for who makes us
// wait.
func (t *transport) send(p []byte) error {
	n, err := t.attempt(p)
	if p = p[n:]; err != nil || len(p) == 0 {
		return err
	}
	progress := time.Now()
	for len(p) > 0 {
		t.Conn.SetWriteDeadline(time.Now().Add(t.stall/4 + 1))
		n, err := t.Conn.Write(p[:min(len(p), chunkBytes)])
		p = p[n:]
		t.out.Add(int64(n))
		if n > 0 {
			progress = time.Now()
		}
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case time.Since(progress) >= t.stall:
			return errStalled
		}
	}
	return t.Conn.SetWriteDeadline(time.Time{})
}

// attempt writes what the socket takes of p without waiting.
func (t *transport) attempt(p []byte) (n int, err error) {
	if t.raw == nil || len(p) == 0 {
		return 0, nil
	}
	a := attempts.Get().(*attempt)
	defer attempts.Put(a)
	a.p, a.n, a.err = p, 0, nil
	if err = t.raw.Write(a.once); err == nil {
		err = a.err
	}
	n, a.p = a.n, nil
	t.out.Add(int64(n))
	return n, err
}

// attempt is one write that must not wait.
type attempt struct {
	p    []byte
	n    int
	err  error
	once func(fd uintptr) bool // do, made once
}

var attempts = sync.Pool{New: func() any {
	a := &attempt{}
	a.once = a.do
	return a
}}

// do writes to a socket, which the runtime has made non-blocking. It always
// returns true, so that nobody waits until the socket takes more.
func (a *attempt) do(fd uintptr) (done bool) {
	for {
		n, err := syscall.Write(int(fd), a.p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
		case err != nil:
			a.err = os.NewSyscallError("write", err)
		default:
			a.n = n
		}
		return true
	}
}

// farewell ends the sending side and gives the client a last moment to take
// what was sent and to close: closing a socket with unread bytes in it would
// throw away what is still on its way to the client.
func (t *transport) farewell(linger time.Duration) {
	until := time.Now().Add(linger)
	t.until.Store(until.UnixNano())
	t.Conn.SetReadDeadline(until)
	if half, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}

// lingering reports whether farewell was said.
func (t *transport) lingering() bool { return t.until.Load() != 0 }

// drain reads and forgets what the client still sends, until it closes or the
// deadline that farewell set.
func (t *transport) drain() {
	if t.lingering() {
		io.Copy(io.Discard, t.Conn)
	}
}

// abort closes the socket and throws away what the kernel still holds for a
// client that does not take it.
func (t *transport) abort() {
	if tcp, ok := t.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	t.Conn.Close()
}

// hijacker hands the library a transport in place of the bare socket.
type hijacker struct {
	http.ResponseWriter
	transport *transport
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.transport.Conn = conn
	if socket, ok := conn.(syscall.Conn); ok {
		h.transport.raw, _ = socket.SyscallConn() // without it every write may wait
	}
	return h.transport, rw, nil
}
