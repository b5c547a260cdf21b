package memory

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/e2e/testkeys"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// counting counts connections and can end them.
type counting struct {
	clienttest.Hoard
	opened atomic.Int32
	mu     sync.Mutex
	conns  []*clienttest.Conn
}

func (cc *counting) start(t testing.TB) string {
	return clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		cc.opened.Add(1)
		cc.mu.Lock()
		cc.conns = append(cc.conns, c)
		cc.mu.Unlock()
		cc.Hoard.Serve(c)
	}})
}

func (cc *counting) hangUp() {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	for _, c := range cc.conns {
		c.WS.Close()
	}
	cc.conns = nil
}

// A connection is kept between operations, shared by those at the same time,
// and replaced when it has died.
func TestConnectionsAreKept(t *testing.T) {
	cc := &counting{}
	url := cc.start(t)
	c := clientFor(t, client.Identity{}, []string{url, url + "/"}, nil) // the same relay twice
	ask := func() {
		if a, err := c.Ask(t.Context(), nostr.Filter{Kinds: []int{1}}); err != nil || len(a.Relays) != 1 {
			t.Errorf("%v, %+v", err, a)
		}
	}
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(ask)
	}
	asking.Wait()
	if n := cc.opened.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	for round := range 3 {
		cc.hangUp()
		ask()
		ev := &nostr.Event{Kind: 1, Content: fmt.Sprint(round)}
		if err := who(t, "author").Sign(ev); err != nil {
			t.Fatal(err)
		}
		cc.hangUp()
		if _, err := c.Publish(t.Context(), ev); err != nil {
			t.Errorf("publish: %v", err)
		}
	}
	if n := cc.opened.Load(); n > 7 {
		t.Errorf("%d connections after 6 that ended", n)
	}
}

// After Close nothing of the client runs on, and it says so.
func TestClose(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL, clienttest.Silent(t), hostileRelays(t)["challenges without end"](t)}
	scaled(t, func(timeout func(*client.Options)) error {
		o := client.Options{Relays: relays}
		timeout(&o)
		c := client.New(who(t, "agent"), o)
		m, err := AsAgent(c, who(t, "owner").PubKey())
		if err != nil {
			t.Fatal(err)
		}
		_, _, set := m.Set(t.Context(), "mem/a", "x", SetOptions{})
		c.Close()
		c.Close()
		if _, err := c.Ask(t.Context(), nostr.Filter{Kinds: []int{1}}); !errors.Is(err, client.ErrNoRelay) || !strings.Contains(err.Error(), client.ErrClosed.Error()) {
			t.Errorf("after Close: %v", err)
		}
		return set
	})
	deadline := time.After(patience)
	for running() {
		select {
		case <-deadline:
			t.Fatal("goroutines of a closed client are still there")
		case <-time.Tick(time.Millisecond):
		}
	}
}

// running reports whether there are goroutines of connections.
func running() bool {
	buf := make([]byte, 4<<20)
	stacks := buf[:runtime.Stack(buf, true)]
	return bytes.Contains(stacks, []byte("client.(*conn)"))
}

// A cancelled context ends an operation at once, whatever the relays do.
func TestCancellation(t *testing.T) {
	asked := make(chan struct{}, 1)
	url := onReq(func(*clienttest.Conn, wire.Frame) bool { asked <- struct{}{}; return true })(t)
	m := ownerOf(t, "agent", "owner", []string{url, clienttest.Silent(t)}, func(o *client.Options) { o.Timeout = time.Hour })
	ctx, cancel := contextWithin(t, time.Hour)
	done := make(chan error, 1)
	go func() {
		_, _, err := m.Get(ctx, "mem/a")
		done <- err
	}()
	<-asked
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, client.ErrNoRelay) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
}

func TestIdentity(t *testing.T) {
	order := "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
	for _, bad := range []string{"", "00", strings.Repeat("0", 64), order, strings.Repeat("f", 64), strings.Repeat("g", 64),
		strings.ToUpper(testkeys.New("agent").Secret), testkeys.New("agent").Secret + "00", "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"} {
		if _, err := client.NewIdentity(bad); !errors.Is(err, client.ErrIdentity) || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%.8s…: %v", bad, err)
		}
	}
	if err := (client.Identity{}).Sign(&nostr.Event{}); !errors.Is(err, client.ErrIdentity) {
		t.Errorf("nobody signs: %v", err)
	}
	if _, err := AsAgent(client.New(client.Identity{}, client.Options{}), who(t, "owner").PubKey()); !errors.Is(err, client.ErrIdentity) {
		t.Errorf("nobody remembers: %v", err)
	}
	if _, err := AsAgent(clientFor(t, who(t, "agent"), nil, nil), "npub1"); !errors.Is(err, nipae.ErrKey) {
		t.Errorf("no owner: %v", err)
	}
	ev := &nostr.Event{Kind: 1}
	if err := who(t, "agent").Sign(ev); err != nil || wire.Verify(ev) != nil || ev.Tags == nil {
		t.Errorf("signed %v, %v", ev, err)
	}
}
