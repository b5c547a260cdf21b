package cluster_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/relay/cluster"
)

// No server tells a client, or another server, of a way around the proxies.
func TestCutCuts(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	c := r.Client()
	create(t, c.Options())

	// A client with the library's defaults uses every server that it is told of.
	login, err := nats.NkeyOptionFromSeed(c.Credentials())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(c.URL(0), login, nats.ReconnectWait(10*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.FlushTimeout(wait); err != nil {
		t.Fatal(err)
	}
	if others := nc.DiscoveredServers(); len(others) > 0 {
		t.Errorf("the client is told of %v", others)
	}
	c.Set(0, rig.Cut)
	r.Until("publishing fails", wait, func() error {
		if err := nc.Publish("engramd.live.x", nil); err == nil {
			return errors.New("it does not")
		}
		return nil
	})

	o := c.Options()
	o.URLs, o.AppendTimeout = []string{c.URL(1)}, time.Second
	alone := open(t, o)
	appendUntil(t, alone, numbered('a', 1))
	r.Isolate(1, rig.Cut)
	// Its routes are closed at once; it steps down as leader after a while.
	for range 3 {
		if o := appendOne(t, alone, numbered('a', 2)); o.err == nil {
			t.Fatal("a server that is cut off from the others acknowledges")
		}
	}
	r.Isolate(1, rig.Healed)
	appendUntil(t, alone, numbered('a', 3))
}

// A connection that accepts everything and answers nothing is given up, and the
// node continues at another server; so is one whose answers alone are lost.
func TestBlackHole(t *testing.T) {
	for name, state := range map[string]rig.State{"swallowed": rig.BlackHole, "answers swallowed": rig.HalfOpen} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blackHole(t, state)
		})
	}
}

func blackHole(t *testing.T, state rig.State) {
	r := rig.Start(t, nil)
	c := r.Client()
	conn := create(t, c.Options())
	reads := follow(t, conn)
	appendUntil(t, conn, numbered('a', 1))
	for i := range r.Count() { // whichever server it is connected to
		c.SetAll(rig.Healed)
		c.Set(i, state)
		began := time.Now()
		number := appendUntil(t, conn, numbered('a', uint64(2+i)))
		reads.reached(t, r, number)
		t.Logf("state %d of %s: acknowledged and read after %v", state, r.Name(i), time.Since(began).Round(time.Millisecond))
	}
	c.SetAll(state)
	if o := appendOne(t, conn, numbered('a', 9)); !errors.Is(o.err, cluster.ErrUnknown) {
		t.Errorf("an append into a black hole: %v", o.err)
	}
	c.SetAll(rig.Healed)
	reads.reached(t, r, appendUntil(t, conn, numbered('a', 10)))
}

// A node whose server is cut off from the other two connects to one of these,
// although its own still answers.
func TestServerThatIsCutOff(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	c := r.Client()
	conn := create(t, c.Options())
	reads := follow(t, conn)
	appendUntil(t, conn, numbered('a', 1))
	for i := range r.Count() {
		r.Isolate(i, rig.BlackHole)
		began := time.Now()
		number := appendUntil(t, conn, numbered('a', uint64(2+i)))
		reads.reached(t, r, number)
		t.Logf("%s cut off: acknowledged and read after %v", r.Name(i), time.Since(began).Round(time.Millisecond))
		r.Isolate(i, rig.Healed)
		r.Settle()
	}
}

// A server that is stopped and continued is missing for that time only.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i := range s.Count() {
		s.Stop(i)
		grow(t, s.Rig, s.loads, 50)
		s.Cont(i)
		grow(t, s.Rig, s.loads, 50)
	}
	s.finish()
}
