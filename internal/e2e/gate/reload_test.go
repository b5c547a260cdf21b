package gate

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestGateReload: after SIGHUP stricter rules hold for subscriptions that were
// granted before. A reader whom the new rules allow misses nothing.
func TestGateReload(t *testing.T) {
	const contract = "contract-reload"
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: "[gate]\ncontracts = \"contract\"\n"})
	stranger, party := rig.Dial(t, relay, rig.GateStranger), rig.Dial(t, relay, rig.GateWorker)
	publisher := rig.Dial(t, relay)
	thread := relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{contract}}
	mine := relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#p": []string{rig.GateWorker.Pub}}
	marks := relaytest.Filter{"kinds": []int{gateMarker}}
	strangerSub := stranger.MustSubscribe(thread, marks).Sub
	partySub := party.MustSubscribe(mine).Sub

	before := relaytest.Entry(rig.GateAgent, rig.GateWorker.Pub, contract, "message", "before", 1_700_000_001)
	publisher.Store(before)
	if ev := stranger.MustLive(strangerSub); ev.ID != before.ID {
		t.Fatalf("who names the contract got kind %d", ev.Kind)
	}

	if err := os.WriteFile(relay.Config, []byte("[gate]\ncontracts = \"parties\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	relay.Signal(syscall.SIGHUP)
	ctx, cancel := context.WithTimeout(context.Background(), relaytest.Patience)
	defer cancel()
	if _, err := relay.Log.Wait(ctx, func(line string) bool { return strings.Contains(line, "configuration reloaded") }); err != nil {
		t.Fatalf("reload: %v\n%s", err, relay.Log.Text())
	}

	after := relaytest.Entry(rig.GateAgent, rig.GateWorker.Pub, contract, "message", "after", 1_700_000_002)
	marker := relaytest.Sign(rig.GateStranger, gateMarker, 1_700_000_003, "marker")
	publisher.Store(after, marker)
	if ev := stranger.MustLive(strangerSub); ev.ID != marker.ID {
		t.Errorf("after contracts = parties the stranger's old subscription got kind %d", ev.Kind)
	}
	for _, want := range rig.IDs(before, after) {
		if ev := party.MustLive(partySub); ev.ID != want {
			t.Errorf("the party got %s, want %s", ev.ID, want)
		}
	}
	stranger.Closed("restricted: ", thread)
}

// TestGateReloadOfReplicas: a key that is removed from gate.replicas gets
// nothing gated any more on its open subscription, and new requests are
// refused.
func TestGateReloadOfReplicas(t *testing.T) {
	config := "[gate]\nreplicas = [\"" + rig.GateReplica.Pub + "\"]\n"
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: config})
	replica, publisher := rig.Dial(t, relay, rig.GateReplica), rig.Dial(t, relay)
	sub := replica.MustSubscribe(relaytest.Filter{}).Sub
	memory := func(text string, at int64) *nostr.Event {
		return relaytest.Memory(rig.GateAgent, rig.GateOwner.Pub, "mem/one", text, at)
	}
	before := memory("before", 1_700_000_001)
	publisher.Store(before)
	if ev := replica.MustLive(sub); ev.ID != before.ID {
		t.Fatalf("the replica got kind %d", ev.Kind)
	}
	reconcile := func(label, msg, want string) {
		t.Helper()
		args := []any{"sync", msg}
		if label == "NEG-OPEN" {
			args = []any{"sync", relaytest.Filter{"kinds": []int{30174}}, msg}
		}
		if err := replica.Send(label, args...); err != nil {
			t.Fatal(err)
		}
		f, err := replica.Next()
		if err != nil || !strings.HasPrefix(f.Label+" "+f.Text(1), want) {
			t.Errorf("%s is answered %.200s, %v, want %s", label, f.Raw, err, want)
		}
	}
	reconcile("NEG-OPEN", "6100000200", "NEG-MSG 6100000201"+before.ID)
	if err := os.WriteFile(relay.Config, []byte("[gate]\nreplicas = []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	relay.Signal(syscall.SIGHUP)
	ctx, cancel := context.WithTimeout(context.Background(), relaytest.Patience)
	defer cancel()
	if _, err := relay.Log.Wait(ctx, func(line string) bool { return strings.Contains(line, "configuration reloaded") }); err != nil {
		t.Fatalf("reload: %v\n%s", err, relay.Log.Text())
	}
	reconcile("NEG-MSG", "6100000200", "NEG-ERR closed: what may be read here has changed, open it again")
	reconcile("NEG-OPEN", "6100000200", "NEG-ERR restricted: ")
	note := relaytest.Note(rig.GateStranger, 1_700_000_003, "open")
	publisher.Store(memory("after", 1_700_000_002), note)
	if ev := replica.MustLive(sub); ev.ID != note.ID {
		t.Errorf("taken off the list, the subscription got kind %d", ev.Kind)
	}
	replica.Closed("restricted: ", relaytest.Filter{"kinds": []int{30174}})
}
