package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// fakeRelay is a websocket server whose answers a test writes.
type fakeRelay struct {
	url string
	// serve is called for each connection and owns it until it returns; if nil,
	// every request goes to http.
	serve func(*fakeConn)
	// http answers every request that is no upgrade; nil is 404.
	http http.HandlerFunc
}

// startFake serves it until the test ends.
func startFake(t testing.TB, f *fakeRelay) string {
	t.Helper()
	var conns sync.WaitGroup
	var mu sync.Mutex
	var open []*websocket.Conn
	ended := false // nobody waits for a connection that comes then
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.serve == nil || !websocket.IsWebSocketUpgrade(r) {
			if f.http != nil {
				f.http(w, r)
			} else {
				http.NotFound(w, r)
			}
			return
		}
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		mu.Lock()
		if ended {
			mu.Unlock()
			return
		}
		open = append(open, ws)
		conns.Add(1)
		mu.Unlock()
		defer conns.Done()
		f.serve(&fakeConn{ws: ws})
	}))
	t.Cleanup(func() {
		mu.Lock()
		ended = true
		for _, ws := range open {
			ws.Close()
		}
		mu.Unlock()
		server.Close()
		conns.Wait()
	})
	f.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return f.url
}

// fakeConn is one connection of a fake relay.
type fakeConn struct{ ws *websocket.Conn }

// read returns the next frame of the client; ok is false when the client is
// gone.
func (c *fakeConn) read() (wire.Frame, bool) {
	_, b, err := c.ws.ReadMessage()
	if err != nil {
		return wire.Frame{}, false
	}
	f, err := wire.ParseFrame(b, wire.Limits{})
	if err != nil {
		panic(fmt.Sprintf("the client sent %.200s: %v", b, err))
	}
	return f, true
}

// next returns the next frame with that label.
func (c *fakeConn) next(label string) (wire.Frame, bool) {
	for {
		f, ok := c.read()
		if !ok || f.Label == label {
			return f, ok
		}
	}
}

// drain reads until the client is gone.
func (c *fakeConn) drain() {
	for {
		if _, ok := c.read(); !ok {
			return
		}
	}
}

// send writes a frame; false when the client is gone.
func (c *fakeConn) send(frame []byte) bool {
	return c.ws.WriteMessage(websocket.TextMessage, frame) == nil
}

func (c *fakeConn) sendf(format string, args ...any) bool {
	return c.send(fmt.Appendf(nil, format, args...))
}

func (c *fakeConn) event(sub string, ev *nostr.Event) bool {
	return c.send(wire.AppendEventFrame(nil, sub, wire.AppendEvent(nil, ev)))
}

// hoard is a relay that keeps every version of every event, as some do, and
// returns a bounded number of events at once.
type hoard struct {
	mu     sync.Mutex
	events []*nostr.Event
	most   int  // 0: no cap
	hints  bool // NIP-67
	reqs   int
	asking func(req int) // called before a REQ is answered, counted from 1; nil for nothing
}

func startHoard(t testing.TB, h *hoard) string {
	t.Helper()
	return startFake(t, &fakeRelay{serve: h.serve})
}

func (h *hoard) put(events ...*nostr.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, events...)
}

// replace stores an event and removes its older versions.
func (h *hoard) replace(ev *nostr.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = slices.DeleteFunc(h.events, func(old *nostr.Event) bool {
		return old.Kind == ev.Kind && old.PubKey == ev.PubKey && old.Tags.GetD() == ev.Tags.GetD()
	})
	h.events = append(h.events, ev)
}

func (h *hoard) all() []*nostr.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

func (h *hoard) count() int { return len(h.all()) }

func (h *hoard) last() *nostr.Event { return h.all()[h.count()-1] }

// uncap makes the relay return everything, and say so.
func (h *hoard) uncap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.most, h.hints = 0, true
}

func (h *hoard) hinting() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hints
}

func (h *hoard) asked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reqs
}

func (h *hoard) serve(c *fakeConn) {
	for f, ok := c.read(); ok; f, ok = c.read() {
		h.answer(c, f)
	}
}

func (h *hoard) answer(c *fakeConn, f wire.Frame) {
	switch f.Label {
	case wire.LabelEvent:
		h.put(f.Event)
		c.send(wire.AppendOK(nil, f.Event.ID, true, ""))
	case wire.LabelReq:
		if h.asking != nil {
			h.asking(h.asked() + 1)
		}
		found, cut := h.find(f.Filters[0])
		for _, ev := range found {
			c.event(f.SubID, ev)
		}
		switch {
		case !h.hinting():
			c.send(wire.AppendEOSE(nil, f.SubID))
		case cut:
			c.send(wire.AppendEOSE(nil, f.SubID, "more"))
		default:
			c.send(wire.AppendEOSE(nil, f.SubID, "finish"))
		}
	}
}

func (h *hoard) find(f nostr.Filter) (found []*nostr.Event, cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reqs++
	seen := map[string]bool{}
	for _, ev := range h.events {
		if f.Matches(ev) && !seen[ev.ID] {
			seen[ev.ID] = true
			found = append(found, ev)
		}
	}
	newestFirst(found)
	most := f.Limit
	if h.most > 0 && (most == 0 || h.most < most) {
		most = h.most
	}
	if most > 0 && len(found) > most {
		return found[:most], true
	}
	return found, false
}

// eventsJSON is a JSON array of events.
func eventsJSON(events []*nostr.Event) []byte {
	raw := make([]json.RawMessage, 0, len(events))
	for _, ev := range events {
		raw = append(raw, wire.AppendEvent(nil, ev))
	}
	b, err := json.Marshal(raw)
	if err != nil {
		panic(err)
	}
	return b
}

// redirectTo answers every request with a redirect.
func redirectTo(base string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, base+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}
}
