package websocket

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// startReal serves the real relay over the real store.
func startReal(t testing.TB, o Options, rules ...gate.Options) *rig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	names, err := relay.NewNames(nil, netip.MustParseAddrPort(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	rel, err := relay.New(relay.Config{Names: names}, storetest.MustTable(t, append(rules, gate.Options{})[0]))
	if err != nil {
		t.Fatal(err)
	}
	// Cleanups run last to first: the sessions end, the store commits its last
	// batch, then the relay's dispatcher ends.
	t.Cleanup(rel.Close)
	path := ""
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.OnCommit = rel.Committed; o.Clock = time.Now; path = o.Path })
	if err := rel.Attach(s); err != nil {
		t.Fatal(err)
	}
	r := &rig{count: newCounted(), log: &logBuffer{}, store: s, path: path}
	if o.Metrics == nil {
		o.Metrics = r.count.sessions()
	}
	o.Limits = filled(o.Limits)
	r.Server = New(rel, o)
	r.serveOn(t, l)
	return r
}

func (r *rig) authFor(t testing.TB, secret string, c *client) *nostr.Event {
	t.Helper()
	ev := &nostr.Event{Kind: nostr.KindClientAuthentication, CreatedAt: nostr.Now(),
		Tags: nostr.Tags{{"challenge", c.challenge}, {"relay", r.url}}}
	if err := ev.Sign(secret); err != nil {
		t.Fatal(err)
	}
	return ev
}

// The gate over the real relay: an engram is stored, and only its parties learn
// of it, in one pipelined conversation each.
func TestEngramsOverTheRealRelay(t *testing.T) {
	r := startReal(t, Options{})
	pa, pb := pubkeyOf(t, alice), pubkeyOf(t, bob)
	mallory := strings.Repeat("0", 63) + "3"
	engrams := func(author string) string { return `{"kinds":[30174],"authors":["` + author + `"]}` }

	stranger, owner := r.dial(t), r.dial(t)
	auth := r.authFor(t, mallory, stranger)
	stranger.send(authFrame(auth), `["REQ","s",`+engrams(pa)+`]`, `["REQ","own",`+engrams(pubkeyOf(t, mallory))+`]`)
	stranger.expect(okFrame(auth))
	if got := stranger.recv(); !strings.HasPrefix(got, `["CLOSED","s","restricted: `) {
		t.Errorf("a stranger got %s", got)
	}
	stranger.expect(`["EOSE","own",["finish"]]`)
	auth = r.authFor(t, bob, owner)
	owner.send(authFrame(auth), `["REQ","o",{"kinds":[30174],"#p":["`+pb+`"]}]`)
	owner.expect(okFrame(auth), `["EOSE","o",["finish"]]`)

	agent := r.dial(t)
	auth = r.authFor(t, alice, agent)
	ev := event(t, alice, 30174, storetest.Payload("x"), nostr.Tag{"d", strings.Repeat("1", 64)}, nostr.Tag{"p", pb})
	agent.send(authFrame(auth), eventFrame(ev), `["REQ","a",`+engrams(pa)+`]`, `["COUNT","n",`+engrams(pa)+`]`, eventFrame(ev))
	agent.expect(okFrame(auth), okFrame(ev), delivered("a", ev), `["EOSE","a",["finish"]]`, `["COUNT","n",{"count":1}]`,
		`["OK","`+ev.ID+`",true,"duplicate: already have this event"]`)
	owner.expect(delivered("o", ev))
	stranger.nothingBefore()

	nobody := r.dial(t)
	nobody.send(`["REQ","x",{"kinds":[30174],"limit":0}]`)
	nobody.expect(`["AUTH","` + nobody.challenge + `"]`)
	if got := nobody.recv(); !strings.HasPrefix(got, `["CLOSED","x","auth-required: `) {
		t.Errorf("nobody got %s", got)
	}
}

// Publishers and subscribers at full speed: every subscriber gets every event
// exactly once, whether stored or live.
func TestNoGapAndNoRepeatUnderLoad(t *testing.T) {
	const writers, perWriter, readers = 3, 150, 6
	r := startReal(t, Options{})
	var writing, reading sync.WaitGroup
	progress := make(chan struct{}, writers*perWriter)
	for w := range writers {
		c := r.dial(t)
		writing.Go(func() {
			for i := range perWriter {
				ev := event(t, alice, 1, fmt.Sprint(w, " ", i))
				c.send(eventFrame(ev))
				progress <- struct{}{}
			}
			for range perWriter {
				if got := c.recv(); !strings.Contains(got, `,true,""]`) {
					t.Errorf("answer %s", got)
				}
			}
		})
	}
	for range readers {
		for range writers * perWriter / readers / 2 {
			<-progress // each subscribes at another moment
		}
		c := r.dial(t)
		c.send(`["REQ","s",{"kinds":[1]}]`)
		reading.Go(func() {
			seen := map[string]bool{}
			for len(seen) < writers*perWriter {
				got, err := c.read()
				if err != nil {
					t.Errorf("after %d events: %v", len(seen), err)
					return
				}
				if got == `["EOSE","s"]` {
					continue
				}
				if seen[got] {
					t.Errorf("twice: %.100s", got)
				}
				seen[got] = true
			}
		})
	}
	writing.Wait()
	reading.Wait()
}

// The order in which a daemon ends: sessions, store, relay. What was sent
// before is committed and answered.
func TestShutdownOverTheRealRelay(t *testing.T) {
	r := startReal(t, Options{})
	c := r.dial(t)
	const n = 100
	for i := range n {
		c.send(eventFrame(event(t, alice, 1, fmt.Sprint(i))))
	}
	for range 10 {
		c.recv() // the first answers
	}
	done := make(chan error, 1)
	go func() { done <- r.Shutdown(context.Background()) }()
	oks := 10
	for {
		got, err := c.read()
		if ce, ok := err.(*websocket.CloseError); ok && ce.Code == websocket.CloseGoingAway {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(got, `,true,""]`) {
			oks++
		}
	}
	c.ws.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if executed := r.count.get("frame EVENT"); oks != executed {
		t.Errorf("%d events were taken and %d acknowledged", executed, oks)
	}
}
