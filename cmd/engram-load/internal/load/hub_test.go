package load

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// hub is a relay that stores nothing and delivers each published event to all
// subscriptions that match, except for what a test changes.
type hub struct {
	url       string
	challenge string

	// deliver may change the messages of the n-th delivery, counted from 1.
	deliver func(n int, m []byte) [][]byte
	// answer may change the answer to a frame; n is how many frames with the same
	// label came before.
	answer func(f wire.Frame, n int, m [][]byte) [][]byte
	// stray reports whether a subscription also gets events that its filter does
	// not match.
	stray func(f nostr.Filter) bool

	mu        sync.Mutex
	conns     map[*hubConn]bool
	ended     bool // no more connections are taken
	delivered int
	frames    map[string]int
}

type hubConn struct {
	ws    *websocket.Conn
	write sync.Mutex
	subs  map[string]nostr.Filter // under hub.mu
}

func (c *hubConn) send(messages ...[]byte) {
	c.write.Lock()
	defer c.write.Unlock()
	for _, m := range messages {
		if string(m) == string(hangUp) || c.ws.WriteMessage(websocket.TextMessage, m) != nil {
			c.ws.Close()
			return
		}
	}
}

// start serves until the test ends.
func (h *hub) start(t testing.TB) string {
	t.Helper()
	var serving sync.WaitGroup
	server := httptest.NewServer(h.handler(&serving))
	t.Cleanup(func() {
		h.mu.Lock()
		h.ended = true
		for c := range h.conns {
			c.ws.Close()
		}
		h.mu.Unlock()
		server.Close()
		serving.Wait()
	})
	h.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return h.url
}

func (h *hub) handler(serving *sync.WaitGroup) http.Handler {
	h.conns, h.frames = map[*hubConn]bool{}, map[string]int{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		c := &hubConn{ws: ws, subs: map[string]nostr.Filter{}}
		h.mu.Lock()
		if h.ended { // this one came too late and would be served by nobody
			h.mu.Unlock()
			ws.Close()
			return
		}
		serving.Add(1)
		h.conns[c] = true
		h.mu.Unlock()
		defer serving.Done()
		defer func() {
			h.mu.Lock()
			delete(h.conns, c)
			h.mu.Unlock()
			ws.Close()
		}()
		if h.challenge != "" {
			c.send(wire.AppendAuthChallenge(nil, h.challenge))
		}
		for {
			_, b, err := ws.ReadMessage()
			if err != nil {
				return
			}
			f, err := wire.ParseFrame(b, wire.Limits{})
			if err != nil {
				return
			}
			h.handle(c, f)
		}
	})
}

func (h *hub) handle(c *hubConn, f wire.Frame) {
	var messages [][]byte
	h.mu.Lock()
	switch f.Label {
	case wire.LabelAuth:
		messages = [][]byte{wire.AppendOK(nil, f.Event.ID, wire.Verify(f.Event) == nil, "")}
	case wire.LabelEvent:
		messages = [][]byte{wire.AppendOK(nil, f.Event.ID, wire.Verify(f.Event) == nil, "")}
	case wire.LabelReq:
		c.subs[f.SubID] = f.Filters[0]
		messages = [][]byte{wire.AppendEOSE(nil, f.SubID)}
	case wire.LabelClose:
		delete(c.subs, f.SubID)
	}
	if h.answer != nil && f.SubID != probeSub {
		h.frames[f.Label]++
		messages = h.answer(f, h.frames[f.Label], messages)
	}
	h.mu.Unlock()
	c.send(messages...)
	if f.Label == wire.LabelEvent && !(len(messages) == 1 && strings.Contains(string(messages[0]), "rate-limited:")) {
		h.publish(f.Event)
	}
}

func (h *hub) publish(ev *nostr.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		for id, filter := range c.subs {
			if !filter.Matches(ev) && (h.stray == nil || !h.stray(filter)) {
				continue
			}
			h.delivered++
			messages := [][]byte{wire.AppendEventFrame(nil, id, wire.AppendEvent(nil, ev))}
			if h.deliver != nil {
				messages = h.deliver(h.delivered, messages[0])
			}
			c.send(messages...)
		}
	}
}
