package replica

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// Differences that remain, as docs/sync.md lists them.

// TestMovesInDifferentOrder: of two moves that two relays accepted while they
// were disconnected, each relay keeps its own, stores the other and reports
// that it does not follow.
func TestMovesInDifferentOrder(t *testing.T) {
	g := newRing(t, rig.Seed(t))
	state := func(by, to relaytest.Key, from, is string) *nostr.Event {
		g.second++
		return relaytest.State(by, to.Pub, "contract-x", is, from, g.second)
	}
	open, accepted := state(agent, worker, "", "open"), state(worker, agent, "open", "accepted")
	g.publish(g.nodes[0], open)
	g.publish(g.nodes[0], accepted)
	for _, n := range g.nodes {
		awaitID(t, rig.Dial(t, n.Child, agent), accepted.ID, true)
	}
	for _, n := range g.nodes {
		n.wire.cut()
	}
	submitted, disputed := state(worker, agent, "accepted", "submitted"), state(agent, worker, "accepted", "disputed")
	g.publish(g.nodes[0], submitted)
	g.publish(g.nodes[1], disputed)
	if len(g.events) != 4 {
		t.Fatalf("%d of 4 moves were taken", len(g.events))
	}
	for _, n := range g.nodes {
		n.wire.mend()
	}
	g.wantEqual()
	for i, want := range map[int]*nostr.Event{0: disputed, 1: submitted} {
		got := g.nodes[i].Run(nil, "check", "--data", g.nodes[i].Data)
		if got.Code != 0 || !strings.Contains(string(got.Stdout), fmt.Sprintf("does not follow: state %s of contract contract-x", want.ID)) {
			t.Errorf("check of relay %d: %d %s%s", i, got.Code, got.Stdout, got.Stderr)
		}
	}
}

// TestRequestToOneRelay: a request to vanish that names one relay acts there
// only. The others keep their events and report the refusal once.
func TestRequestToOneRelay(t *testing.T) {
	g := newRing(t, rig.Seed(t))
	note := relaytest.Note(stranger, g.at(), "still here")
	g.publish(g.nodes[0], note)
	for _, n := range g.nodes {
		awaitID(t, rig.Dial(t, n.Child), note.ID, true)
	}
	vanish := relaytest.Sign(stranger, 62, rig.Now(), "", nostr.Tag{"relay", g.nodes[0].wire.url()})
	g.publish(g.nodes[0], vanish)
	awaitID(t, rig.Dial(t, g.nodes[0].Child), note.ID, false)
	refused := `engramd_replica_events_total{outcome="refused",reason="invalid",replica="1"}`
	if _, err := g.nodes[2].AwaitMetric(refused, patience, func(v float64) bool { return v == 1 }); err != nil {
		t.Fatal(err)
	}
	later := relaytest.Note(agent, g.at(), "later")
	g.publish(g.nodes[0], later)
	for _, n := range g.nodes {
		awaitID(t, rig.Dial(t, n.Child), later.ID, true)
	}
	for _, n := range g.nodes[1:] {
		awaitID(t, rig.Dial(t, n.Child), note.ID, true)
		awaitID(t, rig.Dial(t, n.Child), vanish.ID, false)
	}
	awaitID(t, rig.Dial(t, g.nodes[0].Child), note.ID, false) // it does not come back
}

// TestRequestByIDAlone: a request is open to all only where the event that it
// names was seen; its author sees it everywhere.
func TestRequestByIDAlone(t *testing.T) {
	g := newRing(t, rig.Seed(t))
	for _, n := range g.nodes {
		n.wire.cut()
	}
	note := relaytest.Note(stranger, g.at(), "gone")
	request := relaytest.Deletion(stranger, g.at(), nostr.Tag{"e", note.ID})
	g.publish(g.nodes[0], note)
	g.publish(g.nodes[0], request)
	for _, n := range g.nodes {
		n.wire.mend()
	}
	for i, n := range g.nodes {
		awaitID(t, rig.Dial(t, n.Child, stranger), request.ID, true)
		awaitID(t, rig.Dial(t, n.Child), request.ID, i == 0)
		awaitID(t, rig.Dial(t, n.Child, stranger), note.ID, false)
	}
}
