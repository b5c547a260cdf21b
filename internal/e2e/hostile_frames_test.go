package e2e

import (
	"fmt"
	"os"
	"strings"
	"time"

	"engramd/internal/e2e/relaytest"

	"github.com/gorilla/websocket"
)

// errTimeout is what a read gives whose deadline has passed.
var errTimeout = os.ErrDeadlineExceeded

// oversized sends messages above the limit, a little and by far.
func oversized(relay *relaytest.Child, begun func(), stop <-chan struct{}) error {
	little := fmt.Appendf(nil, `["EVENT",{"content":"%s"}]`, strings.Repeat("x", 300<<10))
	far := fmt.Appendf(nil, `["EVENT",{"content":"%s"}]`, strings.Repeat("x", 16<<20))
	begun()
	for n := 0; !stopped(stop); n++ {
		message := little
		if n%4 == 3 {
			message = far
		}
		if err := answered(relay, false, message); err != nil {
			return fmt.Errorf("oversized: %w", err)
		}
	}
	return nil
}

// inflating sends messages that are small on the wire and 64 MiB inflated.
func inflating(relay *relaytest.Child, begun func(), stop <-chan struct{}) error {
	bomb := fmt.Appendf(nil, `["EVENT",{"content":"%s"}]`, strings.Repeat("0", 64<<20))
	begun()
	for !stopped(stop) {
		if err := answered(relay, true, bomb); err != nil {
			return fmt.Errorf("inflating: %w", err)
		}
	}
	return nil
}

// answered sends a message on a connection of its own and wants to be told:
// a NOTICE, OK false, or a closing frame. Silence is the only wrong answer.
func answered(relay *relaytest.Child, compress bool, message []byte) error {
	conn, err := dialRaw(relay.URL, compress)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer conn.Close()
	conn.EnableWriteCompression(compress)
	if err := conn.SetReadDeadline(time.Now().Add(relaytest.Patience)); err != nil {
		return err
	}
	if _, _, err := conn.ReadMessage(); err != nil {
		return fmt.Errorf("challenge: %w", err)
	}
	// The relay may have hung up before all was sent.
	_ = conn.WriteMessage(websocket.TextMessage, message)
	_, got, err := conn.ReadMessage()
	if os.IsTimeout(err) {
		return fmt.Errorf("no answer to %d bytes", len(message))
	}
	if err == nil && !strings.HasPrefix(string(got), `["NOTICE"`) && !strings.HasPrefix(string(got), `["OK"`) {
		return fmt.Errorf("answer to %d bytes: %.200s", len(message), got)
	}
	return nil
}

// endlessFragments sends a message that never ends, in fragments with a ping
// between them.
func endlessFragments(relay *relaytest.Child, begun func(), stop <-chan struct{}) error {
	for !stopped(stop) {
		if err := fragments(relay, begun, stop); err != nil {
			return fmt.Errorf("endless fragments: %w", err)
		}
	}
	return nil
}

// fragments returns nil once the relay has hung up.
func fragments(relay *relaytest.Child, begun func(), stop <-chan struct{}) error {
	conn, err := dialRaw(relay.URL, false)
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
	for sent := 0; !stopped(stop); sent += len(chunk) {
		if sent > 64<<20 {
			return fmt.Errorf("the relay has taken %d bytes of one message", sent)
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

// hungUp takes a write error as the relay's answer, unless it is a time-out.
func hungUp(err error) error {
	if os.IsTimeout(err) {
		return fmt.Errorf("the relay neither reads nor hangs up: %w", err)
	}
	return nil
}
