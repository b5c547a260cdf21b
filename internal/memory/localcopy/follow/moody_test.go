package follow

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nip77"
)

// mood is how a relay behaves.
type mood string

// Moods in which a relay tells all that it has, in one way or another, and
// those in which it does not.
const (
	honest     mood = "honest"
	plain      mood = "neither reconciles nor counts"
	miscounts  mood = "miscounts"
	refusesNeg mood = "refuses to reconcile"
	garbles    mood = "garbles what it reconciles"
	conceals   mood = "does not list what it has"
	conjures   mood = "lists what it has not"
	repeats    mood = "says everything twice"

	hangs   mood = "hangs"
	closes  mood = "closes in the middle"
	forges  mood = "forges"
	strays  mood = "answers with what is others'"
	floods  mood = "floods"
	refuses mood = "refuses"
)

var (
	telling = []mood{honest, plain, miscounts, refusesNeg, garbles, conceals, conjures, repeats}
	untrue  = []mood{hangs, closes, forges, strays, floods, refuses}
)

// moody is a relay on a socket with moods. It keeps one version of an address,
// or, as a hoard, all of them.
type moody struct {
	url   string
	hoard bool
	alien *nostr.Event // another author's

	mu    sync.Mutex
	mood  mood
	has   []*nostr.Event
	conns map[*websocket.Conn]map[string]nostr.Filter // live questions by connection
	ended bool                                        // nobody waits for a connection that comes now

	serving sync.WaitGroup
}

func startMoody(t testing.TB, alien *nostr.Event) *moody {
	t.Helper()
	r := &moody{alien: alien, mood: honest, conns: map[*websocket.Conn]map[string]nostr.Filter{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !websocket.IsWebSocketUpgrade(q) {
			nips := "[1,45,77]"
			if r.is(plain) {
				nips = "[1]"
			}
			fmt.Fprintf(w, `{"supported_nips":%s}`, nips)
			return
		}
		ws, err := (&websocket.Upgrader{}).Upgrade(w, q, nil)
		if err != nil {
			return
		}
		r.serve(ws)
	}))
	t.Cleanup(func() {
		r.mu.Lock()
		r.ended = true
		r.mu.Unlock()
		r.drop()
		server.Close()
		r.serving.Wait()
	})
	r.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return r
}

func (r *moody) is(m mood) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mood == m
}

// drop ends all connections.
func (r *moody) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ws := range r.conns {
		ws.Close()
	}
}

// put takes an event in the place of others of its address, whatever their age,
// and tells who listens.
func (r *moody) put(events ...*nostr.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ev := range events {
		r.has = slices.DeleteFunc(r.has, func(old *nostr.Event) bool {
			return old.ID == ev.ID || !r.hoard && old.Tags.GetD() == ev.Tags.GetD()
		})
		r.has = append(r.has, ev)
		for ws, subs := range r.conns {
			for sub, f := range subs {
				if f.Matches(ev) {
					_ = ws.WriteMessage(websocket.TextMessage, wire.AppendEventFrame(nil, sub, wire.AppendEvent(nil, ev)))
				}
			}
		}
	}
}

// lose takes an event away and returns it.
func (r *moody) lose(i int) *nostr.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	ev := r.has[i%len(r.has)]
	r.has = slices.DeleteFunc(r.has, func(e *nostr.Event) bool { return e == ev })
	return ev
}

func (r *moody) all() []*nostr.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.has)
}

func (r *moody) turn(m mood) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mood = m
}

func (r *moody) serve(ws *websocket.Conn) {
	defer ws.Close()
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return
	}
	r.serving.Add(1)
	defer r.serving.Done()
	r.conns[ws] = map[string]nostr.Filter{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, ws)
	}()
	sets := map[string]*nip77.Set{}
	for {
		_, b, err := ws.ReadMessage()
		if err != nil {
			return
		}
		f, err := wire.ParseFrame(b, wire.Limits{})
		if err != nil {
			panic(fmt.Sprintf("the client sent %.200s: %v", b, err))
		}
		r.mu.Lock()
		out, end := r.answer(ws, f, sets)
		for _, frame := range out {
			if ws.WriteMessage(websocket.TextMessage, frame) != nil {
				end = true
			}
		}
		r.mu.Unlock()
		if end {
			return
		}
	}
}

// answer is what a frame gets; mu is held.
func (r *moody) answer(ws *websocket.Conn, f wire.Frame, sets map[string]*nip77.Set) (out [][]byte, end bool) {
	if r.mood == hangs {
		return nil, false
	}
	if r.mood == refuses && len(f.Filters) > 0 {
		return [][]byte{wire.AppendClosed(nil, f.SubID, "restricted: not you")}, false
	}
	switch f.Label {
	case wire.LabelClose:
		delete(r.conns[ws], f.SubID)
	case wire.LabelReq:
		if f.Filters[0].LimitZero {
			r.conns[ws][f.SubID] = f.Filters[0]
		}
		return r.events(f)
	case wire.LabelCount:
		n := len(r.matching(f.Filters[0]))
		if r.mood == miscounts {
			n += 3
		}
		return [][]byte{wire.AppendCount(nil, f.SubID, int64(n))}, r.mood == closes
	case wire.LabelNegOpen, wire.LabelNegMsg:
		return r.reconcile(f, sets)
	}
	return nil, false
}

func (r *moody) matching(f nostr.Filter) (found []*nostr.Event) {
	if f.LimitZero {
		return nil
	}
	for _, ev := range r.has {
		if f.Matches(ev) {
			found = append(found, ev)
		}
	}
	slices.SortFunc(found, func(a, b *nostr.Event) int { return int(b.CreatedAt - a.CreatedAt) })
	if f.Limit > 0 && len(found) > f.Limit {
		found = found[:f.Limit]
	}
	return found
}

func (r *moody) events(f wire.Frame) (out [][]byte, end bool) {
	found := r.matching(f.Filters[0])
	send := func(ev *nostr.Event) {
		out = append(out, wire.AppendEventFrame(nil, f.SubID, wire.AppendEvent(nil, ev)))
	}
	for i, ev := range found {
		if r.mood == closes && i >= len(found)/2 {
			return out, true
		}
		send(ev)
		forged := *ev
		forged.Content = "B" + forged.Content[1:]
		switch r.mood {
		case repeats:
			send(ev)
		case forges:
			send(&forged)
		case floods:
			for range 150 {
				send(&forged)
			}
		}
	}
	if r.mood == strays && !f.Filters[0].LimitZero {
		send(r.alien)
	}
	return append(out, wire.AppendEOSE(nil, f.SubID)), r.mood == closes
}

func (r *moody) reconcile(f wire.Frame, sets map[string]*nip77.Set) (out [][]byte, end bool) {
	if f.Label == wire.LabelNegOpen {
		if r.mood == refusesNeg {
			return [][]byte{wire.AppendNegErr(nil, f.SubID, "error: not now")}, false
		}
		var items []nip77.Item
		for i, ev := range r.matching(f.Filters[0]) {
			if r.mood != conceals || i%2 == 0 {
				items = append(items, nip77.Item{CreatedAt: int64(ev.CreatedAt), ID: idOf(ev)})
			}
		}
		if r.mood == conjures {
			items = append(items, nip77.Item{CreatedAt: 1_700_000_000, ID: [32]byte{1, 2, 3}})
		}
		set, err := nip77.NewSet(items)
		if err != nil {
			panic(err)
		}
		sets[f.SubID] = set
	}
	answer, err := sets[f.SubID].Reply(f.Message, 30_000)
	if err != nil {
		panic(err)
	}
	if r.mood == garbles {
		answer = append(answer[:len(answer)/2], 0xff, 0xff, 0xff)
	}
	return [][]byte{wire.AppendNegMsg(nil, f.SubID, answer)}, r.mood == closes
}

// enough is how long a test waits for what must come.
const enough = 2 * time.Minute
