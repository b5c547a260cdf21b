package gate_test

import (
	"reflect"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/gatetest"
	"engramd/internal/relay/gate/oracle"
)

// TestReplicaReadsEverything: every class, under the strictest options, by any
// filter, live and as a party.
func TestReplicaReadsEverything(t *testing.T) {
	o := oracle.Options{IDs: "party", Contracts: "parties", Rules: gatetest.RuleSets[1], Replicas: []string{stranger}, AuthRequired: true}
	table, me := mustTable(t, o), gate.NewReader(second, stranger)
	g := gatetest.New(7, 4)
	g.Unsigned = true
	for _, f := range []nostr.Filter{{}, {Kinds: gatetest.Kinds}, {Tags: nostr.TagMap{"d": {contractID}}}} {
		scope, err := table.ScopeFor(me, f)
		if err != nil {
			t.Fatalf("%v: %v", f, err)
		}
		for _, ev := range g.Events(300) {
			subject := table.Subject(ev)
			if oracle.Matches(f, ev) && (!scope.CanRead(subject) || !admits(scope, subject)) {
				t.Errorf("filter %v hides kind %d, class %v", f, ev.Kind, subject.Class)
			}
			if !gate.Party(table.PartiesOnly(), me).CanRead(subject) {
				t.Errorf("history hides kind %d, class %v", ev.Kind, subject.Class)
			}
		}
	}
	unknown := gate.Subject{Class: 10, ID: someID, Author: stranger}
	if scope, _ := table.ScopeFor(me, nostr.Filter{}); scope.CanRead(unknown) || scope.All() {
		t.Error("a replica reads what the operator alone may")
	}
}

// TestReplicaOffTheList: a subscription of a key that was removed from the list
// shows what the key may read without it.
func TestReplicaOffTheList(t *testing.T) {
	scope, err := mustTable(t, oracle.Options{Replicas: []string{stranger}}).ScopeFor(gate.NewReader(stranger), nostr.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	now := mustTable(t, none)
	for _, ev := range []*nostr.Event{engram(), entry(), sealed(), state(), event(1059, ""), event(4, "")} {
		if subject := now.Subject(ev); !scope.CanRead(subject) || scope.Under(now).CanRead(subject) {
			t.Errorf("kind %d: %v before, %v after", ev.Kind, scope.CanRead(subject), scope.Under(now).CanRead(subject))
		}
	}
}

// TestReplicasWidenNothingElse: keys that are not on the list get the same
// answers and refusals as without a list.
func TestReplicasWidenNothingElse(t *testing.T) {
	g := gatetest.New(11, 5)
	g.Unsigned = true
	events := g.Events(80)
	for i, o := range everyOptions() {
		o.Replicas = nil
		without := mustTable(t, o)
		o.Replicas = []string{someID, otherID}
		with := mustTable(t, o)
		if with.Fingerprint() != without.Fingerprint() {
			t.Fatal("who reads does not change how events are classed")
		}
		for range 40 {
			reader := gate.NewReader(g.Reader()...)
			f := g.Filter(reader.Keys(), events)
			a, errA := without.ScopeFor(reader, f)
			b, errB := with.ScopeFor(reader, f)
			if !reflect.DeepEqual(errA, errB) || !reflect.DeepEqual(a.Clauses(), b.Clauses()) {
				t.Fatalf("options %d, reader %v, filter %v: %v %+v, with replicas %v %+v", i, reader.Keys(), f, errA, a.Clauses(), errB, b.Clauses())
			}
			if errA != nil {
				continue
			}
			for _, ev := range events {
				if subject := with.Subject(ev); a.CanRead(subject) != b.CanRead(subject) || a.Under(with).CanRead(subject) != b.CanRead(subject) {
					t.Fatalf("options %d, reader %v, filter %v: kind %d differs", i, reader.Keys(), f, ev.Kind)
				}
			}
		}
	}
}

func TestReplicasAreKeys(t *testing.T) {
	for _, key := range []string{"", "npub1", someID[:63], "Z" + someID[1:]} {
		if _, err := gate.NewTable(gate.Options{Replicas: []string{key}}); err == nil {
			t.Errorf("%q is taken for a key", key)
		}
	}
}
