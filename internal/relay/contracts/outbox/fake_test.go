package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

const patience = time.Minute

// fakeRelay is a relay on a port of its own that can be told to refuse, to be
// slow and to vanish.
type fakeRelay struct {
	t    *testing.T
	addr string

	mu      sync.Mutex
	server  *http.Server
	open    map[*websocket.Conn]bool
	refuse  func(ev *nostr.Event) string // OK false with this, unless ""
	hangs   bool                         // events get no answer
	drops   func(ev *nostr.Event) bool   // the connection ends instead of an answer
	auth    string                       // the key that must prove itself
	got     []string                     // contents, in the order in which they were taken
	ids     map[string]bool
	tried   int
	changed chan struct{}
}

func startRelay(t *testing.T) *fakeRelay {
	t.Helper()
	f := &fakeRelay{t: t, open: map[*websocket.Conn]bool{}, ids: map[string]bool{}, changed: make(chan struct{})}
	f.appear("127.0.0.1:0")
	t.Cleanup(f.vanish)
	return f
}

func (f *fakeRelay) url() string { return "ws://" + f.addr }

// set changes how the relay behaves.
func (f *fakeRelay) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// contents returns those of the events that it has accepted, in order.
func (f *fakeRelay) contents() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.got)
}

// appear listens, on the same port as before if it had vanished.
func (f *fakeRelay) appear(addr string) {
	f.t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.addr = l.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(f.serve)}
	f.set(func() { f.server = server })
	go server.Serve(l)
}

func (f *fakeRelay) vanish() {
	f.mu.Lock()
	server := f.server
	for ws := range f.open {
		ws.Close()
	}
	f.mu.Unlock()
	server.Close()
}

func (f *fakeRelay) serve(w http.ResponseWriter, r *http.Request) {
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	f.set(func() { f.open[ws] = true })
	defer f.set(func() { delete(f.open, ws) })
	defer ws.Close()
	proved := ""
	ws.WriteJSON([]any{"AUTH", "challenge"})
	for {
		var frame []json.RawMessage
		if err := ws.ReadJSON(&frame); err != nil {
			return
		}
		var label string
		json.Unmarshal(frame[0], &label)
		ev, err := wire.ParseEvent(frame[1])
		if err == nil {
			err = wire.Verify(ev)
		}
		if err != nil {
			f.t.Errorf("was sent %s: %v", frame, err)
			return
		}
		if label == "AUTH" {
			proved = ev.PubKey
			ws.WriteJSON([]any{"OK", ev.ID, true, ""})
			continue
		}
		ok, message, silent, end := f.judge(ev, proved)
		switch {
		case end:
			return
		case !silent:
			ws.WriteJSON([]any{"OK", ev.ID, ok, message})
		}
	}
}

func (f *fakeRelay) judge(ev *nostr.Event, proved string) (ok bool, message string, silent, end bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tried++
	defer f.note()
	switch {
	case f.auth != "" && proved != f.auth:
		return false, "auth-required: who are you", false, false
	case f.drops != nil && f.drops(ev):
		return false, "", false, true
	case f.ids[ev.ID]:
		return true, "duplicate: have it", f.hangs, false
	case f.refuse != nil && f.refuse(ev) != "":
		return false, f.refuse(ev), false, false
	}
	f.ids[ev.ID] = true
	f.got = append(f.got, ev.Content)
	return true, "", f.hangs, false
}

func (f *fakeRelay) note() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// until waits until a condition on the relay holds.
func until(t *testing.T, f *fakeRelay, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		f.mu.Lock()
		ok, changed := holds(), f.changed
		f.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("waited in vain for: %s; it has %v after %d attempts", what, f.got, f.tried)
		}
	}
}

// ours is this relay; it refuses events while refuse returns a reason.
type ours struct {
	mu     sync.Mutex
	refuse func(ev *nostr.Event) relay.Answer
	got    []string
	ids    map[string]bool
}

func (o *ours) Submit(_ context.Context, s relay.Submission) relay.Answer {
	ev := s.Event
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuse != nil {
		if a := o.refuse(ev); a.Outcome != "" {
			return a
		}
	}
	if o.ids[ev.ID] {
		return relay.Answer{OK: true, Why: store.WhyDuplicate, Outcome: "duplicate"}
	}
	o.ids[ev.ID] = true
	o.got = append(o.got, ev.Content)
	return relay.Answer{OK: true, Outcome: "stored"}
}

func (o *ours) contents() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.got)
}

func (o *ours) set(refuse func(ev *nostr.Event) relay.Answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuse = refuse
}

// timers replaces time.After: pauses end when the test says so.
type timers struct {
	mu    sync.Mutex
	clock *storetest.Clock
	asked []time.Duration
	wait  []chan time.Time
	news  chan struct{}
}

func (x *timers) after(d time.Duration) <-chan time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := make(chan time.Time, 1)
	x.asked, x.wait = append(x.asked, d), append(x.wait, c)
	close(x.news)
	x.news = make(chan struct{})
	return c
}

// pass moves the time and ends all pauses.
func (x *timers) pass(d time.Duration) {
	x.clock.Add(d)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.wait {
		select {
		case c <- x.clock.Now():
		default:
		}
	}
	x.wait = nil
}

// paused waits until the n-th pause was requested.
func (x *timers) paused(t *testing.T, n int) {
	t.Helper()
	x.until(t, fmt.Sprint("pause ", n), func(asked []time.Duration) bool { return len(asked) >= n })
}

// pausedFor waits until a pause of this length was requested.
func (x *timers) pausedFor(t *testing.T, d time.Duration) {
	t.Helper()
	x.until(t, fmt.Sprint("a pause of ", d), func(asked []time.Duration) bool { return slices.Contains(asked, d) })
}

func (x *timers) until(t *testing.T, what string, holds func(asked []time.Duration) bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		x.mu.Lock()
		asked, news := slices.Clone(x.asked), x.news
		x.mu.Unlock()
		if holds(asked) {
			return
		}
		select {
		case <-news:
		case <-deadline:
			t.Fatalf("waited in vain for %s; there were %v", what, asked)
		}
	}
}

// counts counts attempts.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) tried(relay int, outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[fmt.Sprint(relay, " ", outcome)]++
}

func (c *counts) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

type rig struct {
	t      *testing.T
	store  *sqlite.Store
	ours   *ours
	timers *timers
	counts *counts
	told   chan string
	o      Options
	box    *Outbox
}

func newRig(t *testing.T, targets ...string) *rig {
	clock := storetest.NewClock()
	r := &rig{t: t, timers: &timers{clock: clock, news: make(chan struct{})}, ours: &ours{ids: map[string]bool{}},
		counts: &counts{n: map[string]int{}}, told: make(chan string, 1000)}
	r.store = storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	r.o = Options{Store: r.store, Relay: r.ours, Targets: targets, Clock: clock.Now, After: r.timers.after, Observe: r.counts.tried,
		Timeout: patience}
	t.Cleanup(func() { r.box.Close() })
	return r
}

func (r *rig) start() *Outbox {
	r.t.Helper()
	box := New(r.o)
	r.box = box
	tell := func(_ context.Context, ev *nostr.Event) error {
		r.told <- ev.Content
		return nil
	}
	if err := box.Start(r.t.Context(), tell); err != nil {
		r.t.Fatal(err)
	}
	return box
}

var author = storetest.NewKey("alice")

// say publishes one event of a contract; its content names both.
func (r *rig) say(contract string, n int, local bool) *nostr.Event {
	r.t.Helper()
	ev := author.Sign(30090, int64(n), fmt.Sprintf("%s%d", contract, n), nostr.Tag{"d", contract})
	if err := r.box.Publish(r.t.Context(), ev, local); err != nil {
		r.t.Fatal(err)
	}
	return ev
}

// until waits until a condition on a relay holds. The clock stands still, but
// due pauses end: one may have been requested after the clock was moved.
func (r *rig) until(f *fakeRelay, what string, holds func() bool) {
	r.t.Helper()
	r.passing(0, f, what, holds)
}

// pass is until while the clock moves.
func (r *rig) pass(f *fakeRelay, what string, holds func() bool) {
	r.t.Helper()
	r.passing(time.Second, f, what, holds)
}

// passing moves the outbox's clock step by step until a condition on a relay
// holds.
func (r *rig) passing(step time.Duration, f *fakeRelay, what string, holds func() bool) {
	r.t.Helper()
	stop := make(chan struct{})
	var moving sync.WaitGroup
	moving.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.timers.pass(step)
			case <-stop:
				return
			}
		}
	})
	defer moving.Wait()
	defer close(stop)
	until(r.t, f, what, holds)
}

// empty waits until nothing is queued any more, while the clock moves.
func (r *rig) empty() {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		lag, err := r.box.Lag(r.t.Context())
		if err != nil || time.Now().After(deadline) {
			r.t.Fatalf("%+v still waits (%v)", lag, err)
		}
		if !slices.ContainsFunc(lag, func(l Lag) bool { return l.Waiting > 0 }) {
			return
		}
		r.timers.pass(maxPause)
		time.Sleep(time.Millisecond) // a poll: the outbox does not signal that it is empty
	}
}
