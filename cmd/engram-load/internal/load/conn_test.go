package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// piped returns a connection and the other end of its pipe.
func piped(t testing.TB, ctx context.Context) (*Conn, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	c := &Conn{net: near, ctx: ctx, rand: bytes.NewReader(make([]byte, 1<<16)), buf: make([]byte, 256)}
	c.stop = context.AfterFunc(ctx, func() { near.SetDeadline(time.Unix(1, 0)) })
	t.Cleanup(func() { c.Close(); far.Close() })
	return c, far
}

// serverFrame is a frame as relays send them: not masked.
func serverFrame(final bool, op byte, payload []byte) []byte {
	b := []byte{op}
	if final {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, payload...)
}

// Messages of all sizes are read whole, whatever fragments they come in.
func TestReadFrames(t *testing.T) {
	c, far := piped(t, context.Background())
	var all []byte
	sizes := []int{0, 1, 125, 126, 255, 256, 257, 65535, 65536, 300_000}
	for _, n := range sizes {
		p := bytes.Repeat([]byte{byte('a' + n%26)}, n)
		all = append(all, serverFrame(true, opText, p)...)
		all = append(all, serverFrame(false, opText, p[:n/3])...)
		all = append(all, serverFrame(true, opPong, nil)...)
		all = append(all, serverFrame(false, opContinuation, p[n/3:n/2])...)
		all = append(all, serverFrame(true, opContinuation, p[n/2:])...)
	}
	go func() {
		for step := 1; len(all) > 0; step = step*7%1001 + 1 {
			n := min(step, len(all))
			if _, err := far.Write(all[:n]); err != nil {
				return
			}
			all = all[n:]
		}
		far.Close()
	}()
	for _, n := range sizes {
		for range 2 {
			got, err := c.Read()
			if err != nil || len(got) != n || bytes.Count(got, []byte{byte('a' + n%26)}) != n {
				t.Fatalf("%d bytes: %d, %v", n, len(got), err)
			}
		}
	}
	if _, err := c.Read(); !errors.Is(err, ErrClosed) {
		t.Errorf("at the end: %v", err)
	}
}

func TestReadRefusesFrames(t *testing.T) {
	large := binary.BigEndian.AppendUint64([]byte{0x81, 127}, MaxMessage+1)
	for name, tt := range map[string]struct {
		b    []byte
		want error
	}{
		"masked":                  {[]byte{0x81, 0x81, 0, 0, 0, 0, 'a'}, ErrProtocol},
		"compressed":              {[]byte{0xC1, 1, 'a'}, ErrProtocol},
		"binary":                  {serverFrame(true, 2, []byte("a")), ErrProtocol},
		"reserved":                {serverFrame(true, 11, nil), ErrProtocol},
		"continuation of nothing": {serverFrame(true, opContinuation, nil), ErrProtocol},
		"text amid fragments":     {append(serverFrame(false, opText, nil), serverFrame(true, opText, nil)...), ErrProtocol},
		"large control":           {serverFrame(true, opPing, make([]byte, 126)), ErrProtocol},
		"control in fragments":    {serverFrame(false, opPing, nil), ErrProtocol},
		"too large":               {large, ErrProtocol},
		"huge":                    {binary.BigEndian.AppendUint64([]byte{0x81, 127}, 1<<63), ErrProtocol},
		"closing":                 {serverFrame(true, opClose, append([]byte{3, 0xe9}, "bye\n"...)), ErrClosed},
		"closing without code":    {serverFrame(true, opClose, nil), ErrClosed},
		"cut in the header":       {[]byte{0x81}, ErrClosed},
		"cut in the payload":      {[]byte{0x81, 5, 'a'}, ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			c, far := piped(t, context.Background())
			go func() { far.Write(tt.b); far.Close() }()
			if got, err := c.Read(); !errors.Is(err, tt.want) || len(got) > 0 {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// Many fragments do not add up to more than one message may have.
func TestFragmentsAreBounded(t *testing.T) {
	c, far := piped(t, context.Background())
	go func() {
		frame := serverFrame(false, opText, make([]byte, 1<<20))
		for {
			if _, err := far.Write(frame); err != nil {
				return
			}
			frame[0] = opContinuation
		}
	}()
	if _, err := c.Read(); !errors.Is(err, ErrProtocol) || cap(c.message) > 3*MaxMessage {
		t.Errorf("got %v with %d bytes", err, cap(c.message))
	}
}

// Cancelling the context that a connection was made with ends its reads and
// writes.
func TestContextEndsConnection(t *testing.T) {
	cause := errors.New("enough")
	for name, use := range map[string]func(*Conn) error{
		"read":  func(c *Conn) error { _, err := c.Read(); return err },
		"write": func(c *Conn) error { return c.Send([]byte("x")) },
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		c, _ := piped(t, ctx)
		failed := make(chan error)
		go func() { failed <- use(c) }()
		cancel(cause)
		if err := <-failed; !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An independent implementation of the protocol reads what is sent, and pings
// are answered.
func TestAgainstAnotherImplementation(t *testing.T) {
	pong := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{EnableCompression: true}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		ws.SetPongHandler(func(text string) error { pong <- text; return nil })
		ws.WriteControl(websocket.PingMessage, []byte("there?"), time.Time{})
		for {
			kind, b, err := ws.ReadMessage()
			if err != nil || ws.WriteMessage(kind, b) != nil {
				return
			}
		}
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := Dial(ctx, strings.Replace(server.URL, "http", "ws", 1)+"/path?a=b", DialOptions{Buffer: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var want []string
	for _, n := range []int{0, 1, 125, 126, 65535, 65536, 200_000} {
		want = append(want, strings.Repeat("ü", n/2)+strings.Repeat("x", n%2))
	}
	for i := 0; i+1 < len(want); i += 2 {
		var frames []byte
		frames = appendFrame(frames, opText, []byte(want[i]), [4]byte{9, 8, 7, 6})
		frames = appendFrame(frames, opText, []byte(want[i+1]), [4]byte{1, 0, 0xff, 3})
		if err := errors.Join(c.SendFrames(frames), c.Send([]byte(want[i]), []byte(want[i+1]))); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, w := range want[i : i+2] {
				if got, err := c.Read(); err != nil || string(got) != w {
					t.Fatalf("%d bytes came back for %d, %v", len(got), len(w), err)
				}
			}
		}
	}
	if got := <-pong; got != "there?" {
		t.Errorf("pong %q", got)
	}
}

func TestDialFails(t *testing.T) {
	answering := func(text string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					io.WriteString(c, text)
				}
				c.Close()
			}
		}()
		return "ws://" + l.Addr().String()
	}
	upgrade := "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	for name, tt := range map[string]struct {
		url  string
		want error
	}{
		"another scheme":  {"http://127.0.0.1:1", ErrOptions},
		"no host":         {"ws:///x", ErrOptions},
		"not found":       {answering("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), ErrRefused},
		"wrong accept":    {answering(upgrade + "Sec-WebSocket-Accept: AAAA\r\n\r\n"), ErrProtocol},
		"no HTTP":         {answering("hello\r\n\r\n"), ErrProtocol},
		"endless headers": {answering(upgrade + strings.Repeat("A: b\r\n", 1<<12)), ErrProtocol},
		"hangs up":        {answering(""), ErrClosed},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if c, err := Dial(ctx, tt.url, DialOptions{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
		cancel()
	}
}

// FuzzRead feeds any bytes to the frame reader: it ends, and allocates no more
// than they and one message need.
func FuzzRead(f *testing.F) {
	f.Add(serverFrame(true, opText, []byte(`["EOSE","q"]`)))
	f.Add(slices.Concat(serverFrame(false, opText, []byte("a")), serverFrame(true, opPong, nil), serverFrame(true, opContinuation, []byte("b"))))
	f.Add([]byte{0x81, 127, 0, 0, 0, 0, 0, 0x80, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &Conn{net: &readerConn{r: bytes.NewReader(b)}, ctx: context.Background(), buf: make([]byte, 16)}
		read := 0
		for {
			m, err := c.Read()
			if err != nil {
				if !errors.Is(err, ErrClosed) && !errors.Is(err, ErrProtocol) {
					t.Fatal(err)
				}
				break
			}
			read += len(m)
		}
		if read > len(b) {
			t.Errorf("%d bytes out of %d", read, len(b))
		}
	})
}

// readerConn is a connection that only reads.
type readerConn struct {
	net.Conn
	r io.Reader
}

func (c *readerConn) Read(b []byte) (int, error)  { return c.r.Read(b) }
func (c *readerConn) Write(b []byte) (int, error) { return len(b), nil }
