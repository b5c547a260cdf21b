package e2e

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestGateReload: SIGHUP with stricter rules holds for subscriptions that were
// let through before it. Whoever may read by the new rules misses nothing.
func TestGateReload(t *testing.T) {
	const contract = "contract-reload"
	relay := relaytest.Start(t, relaytest.Options{Build: watched, Config: "[gate]\ncontracts = \"contract\"\n"})
	stranger, party := dial(t, relay, gateStranger), dial(t, relay, gateWorker)
	publisher := dial(t, relay)
	thread := relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{contract}}
	mine := relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#p": []string{gateWorker.Pub}}
	marks := relaytest.Filter{"kinds": []int{gateMarker}}
	strangerSub := stranger.subscribe(thread, marks).Sub
	partySub := party.subscribe(mine).Sub

	before := relaytest.Entry(gateAgent, gateWorker.Pub, contract, "message", "before", 1_700_000_001)
	publisher.store(before)
	if ev := stranger.live(strangerSub); ev.ID != before.ID {
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

	after := relaytest.Entry(gateAgent, gateWorker.Pub, contract, "message", "after", 1_700_000_002)
	marker := relaytest.Sign(gateStranger, gateMarker, 1_700_000_003, "marker")
	publisher.store(after, marker)
	if ev := stranger.live(strangerSub); ev.ID != marker.ID {
		t.Errorf("after contracts = parties the stranger's old subscription got kind %d", ev.Kind)
	}
	for _, want := range ids(before, after) {
		if ev := party.live(partySub); ev.ID != want {
			t.Errorf("the party got %s, want %s", ev.ID, want)
		}
	}
	stranger.closed("restricted: ", thread)
}
