package operator

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/notify/natstest"
)

// TestBroker: writes to an agent's memory are published after they are durable,
// in order, without slug, d tag, owner or id; other writes are not; and the
// relay goes on while the broker is dead, hangs or comes back.
func TestBroker(t *testing.T) {
	server := natstest.Start(t)
	told := server.Subscribe("engramd.>")
	relay := rig.Start(t, "ENGRAMD_EVENTS_NATS="+server.URL, "ENGRAMD_EVENTS_MUTATIONS=true", "ENGRAMD_TIMEOUTS_SHUTDOWN=10m")
	connected(t, relay, 1)
	c := rig.Dial(t, relay)
	agent, owner := relaytest.Agent(), relaytest.Owner()
	then := rig.Now() - 100
	write := func(n int64) *nostr.Event {
		t.Helper()
		ev := relaytest.Memory(agent, owner.Pub, "mem/told", fmt.Sprintf("version %d", n), then+n)
		c.Store(ev)
		return ev
	}
	c.Store(relaytest.Note(agent, then, "no memory"))
	first := write(1)
	d := first.Tags.GetD()
	for _, want := range []*nostr.Event{first, write(2)} {
		m := nextTold(t, told)
		var got struct {
			V, Time   int64
			Kind      string
			Agent     string
			EventKind int `json:"event_kind"`
			Size      int
		}
		if err := json.Unmarshal(m.Data, &got); err != nil {
			t.Fatal(err)
		}
		if m.Subject != "engramd.mutated."+agent.Pub || got.V != 1 || got.Kind != "mutated" || got.Agent != agent.Pub || got.EventKind != 30174 || got.Size != len(want.Content) {
			t.Errorf("%s: %s", m.Subject, m.Data)
		}
		for _, hidden := range []string{d, owner.Pub, want.ID, "mem/told"} {
			if strings.Contains(string(m.Data), hidden) {
				t.Errorf("the message tells %s: %s", hidden, m.Data)
			}
		}
	}
	c.Store(relaytest.Deletion(agent, then+3, nostr.Tag{"a", relaytest.Coordinate(30174, agent.Pub, d)}, nostr.Tag{"k", "30174"}))
	if m := nextTold(t, told); !strings.Contains(string(m.Data), `"event_kind":5`) {
		t.Errorf("the deletion: %s", m.Data)
	}

	server.Kill()
	connected(t, relay, 0)
	write(4)
	relay.Signal(syscall.SIGSTOP) // or it might tell before anybody listens
	server.Restart()
	told = server.Subscribe("engramd.>")
	relay.Signal(syscall.SIGCONT)
	connected(t, relay, 1)
	write(5)
	for range 2 {
		nextTold(t, told)
	}

	server.Hang()
	for n := range int64(20) {
		write(10 + n)
	}
	server.Continue()
	for range 20 {
		nextTold(t, told)
	}
	server.Hang()
	if code, took := relay.Stop(); code != 0 { // Stop waits for a minute, the relay would for ten
		t.Errorf("beside a broker that hangs the relay took %v to end, with code %d", took, code)
	}
	server.Continue()
}

// TestNoBroker: with a configured broker that does not answer, the relay starts
// and serves; an invalid configuration is an error.
func TestNoBroker(t *testing.T) {
	relay := rig.Start(t, "ENGRAMD_EVENTS_NATS=nats://127.0.0.1:1", "ENGRAMD_EVENTS_MUTATIONS=true")
	c := rig.Dial(t, relay)
	for n := range int64(20) {
		c.Store(relaytest.Memory(relaytest.Agent(), relaytest.Owner().Pub, "mem/a", fmt.Sprint(n), rig.Now()-50+n))
	}
	if _, err := relay.AwaitMetric("engramd_broker_failures_total", brokerPatience, func(n float64) bool { return n > 1 }); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"ENGRAMD_EVENTS_NATS=nats://user:word@127.0.0.1:1", "ENGRAMD_EVENTS_CREDENTIALS=/nowhere", "ENGRAMD_EVENTS_PREFIX=a b"} {
		child, err := relaytest.Launch(t, relaytest.Options{Env: []string{"ENGRAMD_EVENTS_NATS=nats://127.0.0.1:1", wrong}})
		if err == nil {
			t.Errorf("%s: the relay starts", wrong)
		} else if text := child.Log.Text(); !strings.Contains(text, "events.") || strings.Contains(text, "word@") {
			t.Errorf("%s: %s", wrong, text)
		}
	}
}

// brokerPatience is how long a broker may take to come back, or a message to come.
const brokerPatience = 60 * time.Second

func connected(t *testing.T, relay *relaytest.Child, want float64) {
	t.Helper()
	if _, err := relay.AwaitMetric("engramd_broker_connected", brokerPatience, func(n float64) bool { return n == want }); err != nil {
		t.Fatal(err)
	}
}

func nextTold(t *testing.T, told <-chan *nats.Msg) *nats.Msg {
	t.Helper()
	timeout := time.After(brokerPatience)
	for {
		select {
		case m := <-told:
			if m.Subject != "engramd.snapshot._all.gc" { // retention reports each of its rounds
				return m
			}
		case <-timeout:
			t.Fatal("the broker was told nothing")
		}
	}
}
