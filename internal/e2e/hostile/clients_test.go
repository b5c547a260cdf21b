//go:build nightly

package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/config"
)

// again dials until the relay has taken the handshake: its time for that is short
// here, and a client that waits for a processor may miss it.
func again[C any](dial func() (C, error)) (c C, err error) {
	for range 10 {
		if c, err = dial(); err == nil {
			break
		}
	}
	return c, err
}

// dialRaw opens a websocket of which nothing is read unless the caller does.
func dialRaw(url string, compress bool) (*websocket.Conn, error) {
	dialer := websocket.Dialer{HandshakeTimeout: relaytest.Patience, EnableCompression: compress}
	return again(func() (*websocket.Conn, error) {
		conn, _, err := dialer.Dial(url, nil)
		return conn, err
	})
}

// dialDeaf opens a websocket with a receive buffer so small that the relay
// notices soon when nothing is read.
func dialDeaf(url string) (*websocket.Conn, error) {
	dialer := websocket.Dialer{
		HandshakeTimeout: relaytest.Patience,
		NetDial: func(network, addr string) (net.Conn, error) {
			conn, err := net.Dial(network, addr)
			if err != nil {
				return nil, err
			}
			return conn, conn.(*net.TCPConn).SetReadBuffer(4096)
		},
	}
	return again(func() (*websocket.Conn, error) {
		conn, _, err := dialer.Dial(url, nil)
		return conn, err
	})
}

// neverReads asks for everything, live too, and reads nothing. It must be cut
// off, and then connects again.
func neverReads(url string, begun func(), stop <-chan struct{}) error {
	author := relaytest.NewKey(500)
	filler, err := again(func() (*relaytest.Client, error) { return relaytest.Dial(url) })
	if err != nil {
		return err
	}
	defer filler.Close()
	text := strings.Repeat("z", 60_000)
	for i := range 40 {
		if ok, err := filler.Publish(relaytest.Note(author, rig.Now()-1000+int64(i), fmt.Sprint(i, text))); err != nil || !ok.True {
			return fmt.Errorf("fill: %v %v", ok, err)
		}
	}
	cut := false
	for !cut || !rig.Stopped(stop) { // it stays until it has been cut off once
		conn, err := dialDeaf(url)
		if err != nil {
			return fmt.Errorf("dial: %w", err)
		}
		for i := range 64 {
			frame := fmt.Sprintf(`["REQ","s%d",{"authors":["%s"]},{"kinds":[1]}]`, i, author.Pub)
			if conn.WriteMessage(websocket.TextMessage, []byte(frame)) != nil {
				break // cut off already
			}
		}
		begun()
		err = untilCut(conn, relaytest.Patience)
		cut = true
		conn.Close()
		if err != nil {
			return fmt.Errorf("never reads: %w", err)
		}
	}
	return nil
}

// untilCut pings until the relay has cut the connection.
func untilCut(conn *websocket.Conn, limit time.Duration) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for {
		select {
		case <-deadline:
			return fmt.Errorf("not cut off after %v", limit)
		case <-tick.C:
			if conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)) != nil {
				return nil
			}
		}
	}
}

// byteByByte sends the handshake and then events one byte at a time. It is slow
// but allowed: its event must be answered.
func byteByByte(url string, begun func(), stop <-chan struct{}) error {
	begun()
	for n := int64(0); !rig.Stopped(stop); n++ {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "ws://"))
		if err != nil {
			return fmt.Errorf("dial: %w", err)
		}
		err = dribble(conn, stop, n)
		conn.Close()
		if err != nil {
			return fmt.Errorf("byte by byte: %w", err)
		}
	}
	return nil
}

func dribble(conn net.Conn, stop <-chan struct{}, n int64) error {
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	send := func(text []byte) error {
		for i := range text {
			if text[0] != 'G' {
				<-tick.C // the headers have a time limit, messages have none
			}
			if rig.Stopped(stop) {
				return nil
			}
			if _, err := conn.Write(text[i : i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	began := time.Now()
	handshake := "GET / HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	err := send([]byte(handshake))
	if err == nil {
		err = readUntil(conn, stop, "\r\n\r\n") // nothing may be sent before the answer
	}
	if err != nil && time.Since(began) >= config.HandshakeTime {
		return nil // on a machine that is this busy, the relay may cut it off
	}
	if err != nil {
		return fmt.Errorf("handshake of %v: %w", time.Since(began), err)
	}
	ev := relaytest.Note(relaytest.NewKey(501), rig.Now()-5000+n, fmt.Sprint("slowly ", n, time.Now().UnixNano()))
	if err := send(maskedText(fmt.Appendf(nil, `["EVENT",%s]`, ev))); err != nil {
		return err
	}
	return readUntil(conn, stop, `["OK","`+ev.ID+`",true`)
}

// readUntil reads until what was read contains text, or stop is closed.
func readUntil(conn net.Conn, stop <-chan struct{}, text string) error {
	if err := conn.SetReadDeadline(time.Now().Add(relaytest.Patience)); err != nil {
		return err
	}
	var got []byte
	buf := make([]byte, 4096)
	for !rig.Stopped(stop) {
		n, err := conn.Read(buf)
		got = append(got, buf[:n]...)
		if strings.Contains(string(got), text) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("no %q: %w after %.300q", text, err, got)
		}
	}
	return nil
}

// maskedText is a websocket text frame with a mask of zeroes.
func maskedText(payload []byte) []byte {
	return append([]byte{0x81, 0x80 | 126, byte(len(payload) >> 8), byte(len(payload)), 0, 0, 0, 0}, payload...)
}

// maximumOfSubscriptions opens the maximum of subscriptions with the maximum of
// filters, all of which match what the well-behaved client writes. When it is
// cut off because it reads too slowly, it connects again.
func maximumOfSubscriptions(url string, begun func(), stop <-chan struct{}) error {
	for !rig.Stopped(stop) {
		if err := subscribeToTheLimit(url, begun, stop); err != nil {
			return err
		}
	}
	return nil
}

func subscribeToTheLimit(url string, begun func(), stop <-chan struct{}) error {
	c, err := again(func() (*relaytest.Client, error) { return relaytest.Dial(url) })
	if err != nil {
		return err
	}
	defer c.Close()
	agent := relaytest.Agent()
	filters := make([]any, 16)
	for i := range filters {
		filters[i] = relaytest.Filter{"kinds": []int{1, 100 + i}, "authors": []string{agent.Pub}, "limit": 1}
	}
	for i := range 64 {
		if a, err := c.Subscribe(fmt.Sprint("max", i), filters...); err != nil || !a.EOSE {
			return fmt.Errorf("subscription %d: %v, CLOSED %q", i+1, err, a.Closed)
		}
	}
	if a, err := c.Subscribe("one too many", filters[0]); err != nil || a.Closed == "" {
		return fmt.Errorf("subscription 65: %v, EOSE %v, CLOSED %q", err, a.EOSE, a.Closed)
	}
	if a, err := c.Subscribe("max0", append(filters, filters[0])...); err != nil || a.Closed == "" {
		return fmt.Errorf("17 filters: %v, EOSE %v, CLOSED %q", err, a.EOSE, a.Closed)
	}
	begun()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
		case <-ctx.Done():
		}
		cancel()
	}()
	for {
		if _, err := c.WaitContext(ctx, relaytest.Labelled("EVENT")); err != nil {
			return nil // told to stop, or cut off for reading too slowly
		}
	}
}

// floods sends events, requests and garbage as fast as the relay reads.
func floods(url string, begun func(), stop <-chan struct{}) error {
	conn, err := dialRaw(url, false)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		for {
			if _, r, err := conn.NextReader(); err != nil {
				return
			} else if _, err := io.Copy(io.Discard, r); err != nil {
				return
			}
		}
	}()
	k := relaytest.NewKey(502)
	var frames [][]byte
	for i := range 200 {
		ev := relaytest.Note(k, rig.Now()-9000+int64(i), "flood")
		frames = append(frames, fmt.Appendf(nil, `["EVENT",%s]`, ev))
		ev.Sig = strings.Repeat("0", 128)
		frames = append(frames, fmt.Appendf(nil, `["EVENT",%s]`, ev))
		frames = append(frames, fmt.Appendf(nil, `["REQ","%d",{"kinds":[1],"limit":5}]`, i%70), fmt.Appendf(nil, `["COUNT","c",{"kinds":[1],"limit":5}]`), fmt.Appendf(nil, `["CLOSE","%d"]`, i%70), []byte(`["NOISE"]`), []byte(`{`))
	}
	begun()
	for n := 0; !rig.Stopped(stop); n++ {
		if err := conn.SetWriteDeadline(time.Now().Add(relaytest.Patience)); err != nil {
			return err
		}
		if err := conn.WriteMessage(websocket.TextMessage, frames[n%len(frames)]); err != nil {
			return fmt.Errorf("flood, frame %d: a relay reads slowly then, and does not hang up: %w", n, err)
		}
	}
	return nil
}

// halfHandshakes opens connections that never finish their headers, and ones
// that close at once. The relay must close the former itself.
func halfHandshakes(url string, begun func(), stop <-chan struct{}) error {
	addr := strings.TrimPrefix(url, "ws://")
	for !rig.Stopped(stop) {
		var open []net.Conn
		for i := range 50 {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				return fmt.Errorf("dial: %w", err)
			}
			if i%2 == 0 {
				conn.Close()
				continue
			}
			open = append(open, conn)
			if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: relay\r\nUpgrade: webso"); err != nil {
				return fmt.Errorf("half a handshake: %w", err)
			}
		}
		begun()
		for _, conn := range open {
			err := conn.SetReadDeadline(time.Now().Add(relaytest.Patience))
			if err == nil {
				_, err = io.Copy(io.Discard, conn)
			}
			conn.Close()
			if errors.Is(err, errTimeout) {
				return fmt.Errorf("a connection that never finishes its headers stays open")
			}
		}
	}
	return nil
}
