// Package clienttest has relays of which a test writes the answers.
package clienttest

import (
	"cmp"
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

// Fake is a websocket server whose answers a test writes.
type Fake struct {
	URL string
	// Serve is called for each connection and owns it until it returns; if nil,
	// every request goes to http.
	Serve func(*Conn)
	// HTTP answers every request that is no upgrade; nil is 404.
	HTTP http.HandlerFunc
}

// Start serves it until the test ends.
func Start(t testing.TB, f *Fake) string {
	t.Helper()
	var conns sync.WaitGroup
	var mu sync.Mutex
	var open []*websocket.Conn
	ended := false // nobody waits for a connection that comes then
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.Serve == nil || !websocket.IsWebSocketUpgrade(r) {
			if f.HTTP != nil {
				f.HTTP(w, r)
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
		f.Serve(&Conn{WS: ws})
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
	f.URL = "ws" + strings.TrimPrefix(server.URL, "http")
	return f.URL
}

// Conn is one connection of a fake relay.
type Conn struct{ WS *websocket.Conn }

// Read returns the next frame of the client; ok is false when the client is
// gone.
func (c *Conn) Read() (wire.Frame, bool) {
	_, b, err := c.WS.ReadMessage()
	if err != nil {
		return wire.Frame{}, false
	}
	f, err := wire.ParseFrame(b, wire.Limits{})
	if err != nil {
		panic(fmt.Sprintf("the client sent %.200s: %v", b, err))
	}
	return f, true
}

// Next returns the next frame with that label.
func (c *Conn) Next(label string) (wire.Frame, bool) {
	for {
		f, ok := c.Read()
		if !ok || f.Label == label {
			return f, ok
		}
	}
}

// Drain reads until the client is gone.
func (c *Conn) Drain() {
	for {
		if _, ok := c.Read(); !ok {
			return
		}
	}
}

// Send writes a frame; false when the client is gone.
func (c *Conn) Send(frame []byte) bool {
	return c.WS.WriteMessage(websocket.TextMessage, frame) == nil
}

func (c *Conn) Sendf(format string, args ...any) bool {
	return c.Send(fmt.Appendf(nil, format, args...))
}

func (c *Conn) Event(sub string, ev *nostr.Event) bool {
	return c.Send(wire.AppendEventFrame(nil, sub, wire.AppendEvent(nil, ev)))
}

// Hoard is a relay that keeps every version of every event, as some do, and
// returns a bounded number of events at once.
type Hoard struct {
	mu     sync.Mutex
	Events []*nostr.Event
	Most   int  // 0: no cap
	Hints  bool // NIP-67
	reqs   int
	Asking func(req int) // called before a REQ is answered, counted from 1; nil for nothing
}

func StartHoard(t testing.TB, h *Hoard) string {
	t.Helper()
	return Start(t, &Fake{Serve: h.Serve})
}

func (h *Hoard) Put(events ...*nostr.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Events = append(h.Events, events...)
}

// Replace stores an event and removes its older versions.
func (h *Hoard) Replace(ev *nostr.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Events = slices.DeleteFunc(h.Events, func(old *nostr.Event) bool {
		return old.Kind == ev.Kind && old.PubKey == ev.PubKey && old.Tags.GetD() == ev.Tags.GetD()
	})
	h.Events = append(h.Events, ev)
}

func (h *Hoard) All() []*nostr.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.Events)
}

func (h *Hoard) Count() int { return len(h.All()) }

func (h *Hoard) Last() *nostr.Event { return h.All()[h.Count()-1] }

// Uncap makes the relay return everything, and say so.
func (h *Hoard) Uncap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Most, h.Hints = 0, true
}

func (h *Hoard) hinting() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Hints
}

func (h *Hoard) Asked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reqs
}

func (h *Hoard) Serve(c *Conn) {
	for f, ok := c.Read(); ok; f, ok = c.Read() {
		h.Answer(c, f)
	}
}

func (h *Hoard) Answer(c *Conn, f wire.Frame) {
	switch f.Label {
	case wire.LabelEvent:
		h.Put(f.Event)
		c.Send(wire.AppendOK(nil, f.Event.ID, true, ""))
	case wire.LabelReq:
		if h.Asking != nil {
			h.Asking(h.Asked() + 1)
		}
		found, cut := h.Find(f.Filters[0])
		for _, ev := range found {
			c.Event(f.SubID, ev)
		}
		switch {
		case !h.hinting():
			c.Send(wire.AppendEOSE(nil, f.SubID))
		case cut:
			c.Send(wire.AppendEOSE(nil, f.SubID, "more"))
		default:
			c.Send(wire.AppendEOSE(nil, f.SubID, "finish"))
		}
	}
}

// Find returns the events that fit a filter, and whether a limit cut them.
func (h *Hoard) Find(f nostr.Filter) (found []*nostr.Event, cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reqs++
	seen := map[string]bool{}
	for _, ev := range h.Events {
		if f.Matches(ev) && !seen[ev.ID] {
			seen[ev.ID] = true
			found = append(found, ev)
		}
	}
	slices.SortFunc(found, func(a, b *nostr.Event) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	most := f.Limit
	if h.Most > 0 && (most == 0 || h.Most < most) {
		most = h.Most
	}
	if most > 0 && len(found) > most {
		return found[:most], true
	}
	return found, false
}

// EventsJSON is a JSON array of events.
func EventsJSON(events []*nostr.Event) []byte {
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

// RedirectTo answers every request with a redirect.
func RedirectTo(base string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, base+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}
}
