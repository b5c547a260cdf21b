//go:build nightly

package hostile

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// errTimeout is the error of a read after its deadline.
var errTimeout = os.ErrDeadlineExceeded

// oversized sends messages above the limit, a little and by far.
func oversized(url string, begun func(), stop <-chan struct{}) error {
	sizes := []int{300 << 10, 300 << 10, 300 << 10, 16 << 20}
	return sendPrepared(url, false, sizes, begun, stop)
}

// inflating sends messages that are small on the wire and 64 MiB inflated.
func inflating(url string, begun func(), stop <-chan struct{}) error {
	return sendPrepared(url, true, []int{64 << 20}, begun, stop)
}

// sendPrepared sends EVENTs of these sizes again and again, each on a
// connection of its own, and requires an answer. Each is encoded once.
func sendPrepared(url string, compress bool, sizes []int, begun func(), stop <-chan struct{}) error {
	var messages []*websocket.PreparedMessage
	for _, size := range sizes {
		m, err := websocket.NewPreparedMessage(websocket.TextMessage, fmt.Appendf(nil, `["EVENT",{"content":"%s"}]`, strings.Repeat("0", size)))
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	for n := 0; !rig.Stopped(stop); n++ {
		if err := answered(url, compress, messages[n%len(messages)]); err != nil {
			return fmt.Errorf("%d bytes: %w", sizes[n%len(messages)], err)
		}
		if n == len(messages) {
			begun() // all are encoded
		}
	}
	return nil
}

// answered sends a message on a connection of its own and requires an answer: a
// NOTICE, OK false, or a closing frame. Silence is the only wrong answer.
func answered(url string, compress bool, message *websocket.PreparedMessage) error {
	conn, err := dialRaw(url, compress)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(relaytest.Patience)); err != nil {
		return err
	}
	if _, _, err := conn.ReadMessage(); err != nil {
		return fmt.Errorf("challenge: %w", err)
	}
	// The relay may have closed the connection before all was sent.
	_ = conn.WritePreparedMessage(message)
	_, got, err := conn.ReadMessage()
	if os.IsTimeout(err) {
		return fmt.Errorf("no answer")
	}
	if err == nil && !strings.HasPrefix(string(got), `["NOTICE"`) && !strings.HasPrefix(string(got), `["OK"`) {
		return fmt.Errorf("answered with %.200s", got)
	}
	return nil
}

// endlessFragments sends a message that never ends, in fragments with a ping
// between them.
func endlessFragments(url string, begun func(), stop <-chan struct{}) error {
	for !rig.Stopped(stop) {
		if err := fragments(url, begun, stop); err != nil {
			return fmt.Errorf("endless fragments: %w", err)
		}
	}
	return nil
}

// fragments returns nil once the relay has closed the connection.
func fragments(url string, begun func(), stop <-chan struct{}) error {
	conn, err := dialRaw(url, false)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer conn.Close()
	w, err := conn.NextWriter(websocket.TextMessage)
	if err != nil {
		return err
	}
	chunk := []byte(strings.Repeat(`["EVENT",`, 1024))
	begun()
	opened := time.Now()
	for sent := 0; !rig.Stopped(stop); sent += len(chunk) {
		if took := time.Since(opened); took > relaytest.Patience {
			return fmt.Errorf("the relay has taken %d bytes of one message in %v", sent, took)
		}
		if err := conn.SetWriteDeadline(time.Now().Add(relaytest.Patience)); err != nil {
			return err
		}
		if _, err := w.Write(chunk); err != nil {
			return hungUp(err)
		}
		if err := conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(relaytest.Patience)); err != nil {
			return hungUp(err)
		}
	}
	return nil
}

// hungUp takes a write error, unless it is a time-out, as the relay's answer.
func hungUp(err error) error {
	if os.IsTimeout(err) {
		return fmt.Errorf("the relay neither reads nor hangs up: %w", err)
	}
	return nil
}
