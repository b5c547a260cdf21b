package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Attackers speak the wire by hand: what they send is made once, so that the
// processors of the machine are spent by the relay.

// textFrame is a websocket text frame with a mask of zeroes.
func textFrame(payload string) []byte { return frame(0x81, []byte(payload)) }

// deflatedFrame is a text frame under permessage-deflate.
func deflatedFrame(payload string) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	_, _ = io.WriteString(w, payload) // a buffer takes everything
	_ = w.Flush()
	return frame(0x81|0x40, bytes.TrimSuffix(b.Bytes(), []byte{0, 0, 0xff, 0xff}))
}

func frame(first byte, payload []byte) []byte {
	out := []byte{first}
	switch n := len(payload); {
	case n < 126:
		out = append(out, 0x80|byte(n))
	case n < 1<<16:
		out = append(out, 0x80|126)
		out = binary.BigEndian.AppendUint16(out, uint16(n))
	default:
		out = append(out, 0x80|127)
		out = binary.BigEndian.AppendUint64(out, uint64(n))
	}
	out = append(out, 0, 0, 0, 0)
	return append(out, payload...)
}

// tcp connects from the soldier's address.
func (s *soldier) tcp(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{LocalAddr: s.local(), Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", s.addr())
	if err != nil {
		return nil, err
	}
	// What the relay does not read must not cost us: a loopback socket would take
	// 40,000 small frames first, and writing them the processor that we measure on.
	return conn, conn.(*net.TCPConn).SetWriteBuffer(32 << 10)
}

// websocket connects and shakes hands. What the relay greets with is left unread.
func (s *soldier) websocket(ctx context.Context) (net.Conn, *bufio.Reader, error) {
	conn, err := s.tcp(ctx)
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+s.addr()+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; server_no_context_takeover\r\n\r\n")
	if err == nil {
		r := bufio.NewReader(conn)
		var resp *http.Response
		if resp, err = http.ReadResponse(r, nil); err == nil {
			if resp.StatusCode == http.StatusSwitchingProtocols {
				_ = conn.SetDeadline(time.Time{})
				return conn, r, nil
			}
			err = fmt.Errorf("HTTP %d", resp.StatusCode)
		}
	}
	conn.Close()
	return nil, nil, err
}

// again calls what one connection does over and over until ctx ends, with a
// moment between, as who is thrown out comes back.
func again(ctx context.Context, do func() error) {
	for ctx.Err() == nil {
		if do() != nil {
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// closing closes a connection when ctx ends; call the result when it is over.
func closing(ctx context.Context, conn net.Conn) func() {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return func() { stop(); conn.Close() }
}

// flood writes frames as fast as the relay takes them, from first to last and
// then again from the place repeat on, and reads whatever comes.
func flood(frames func(s *soldier) [][]byte, repeat int) fight {
	return func(ctx context.Context, s *soldier) {
		list := frames(s)
		again(ctx, func() error {
			conn, r, err := s.websocket(ctx)
			if err != nil {
				return err
			}
			defer closing(ctx, conn)()
			go func() { _, _ = io.Copy(io.Discard, r) }() // ends with the connection
			for i := 0; ctx.Err() == nil; {
				if i == len(list) {
					if s.engaged(); repeat < 0 {
						<-ctx.Done()
						return nil
					}
					i = repeat
				}
				if _, err := conn.Write(list[i]); err != nil {
					return err
				}
				s.struck()
				if i++; i > 64 {
					s.engaged()
				}
			}
			return nil
		})
	}
}

// same gives every soldier the same frames.
func same(payloads ...string) func(*soldier) [][]byte {
	frames := make([][]byte, len(payloads))
	for i, p := range payloads {
		frames[i] = textFrame(p)
	}
	return func(*soldier) [][]byte { return frames }
}
