package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestDelete_KilledHalfWay: the daemon is killed while it removes what a filter
// matches. The rest can be read and written, and the same command removes what
// remains; clients publish and read all the while.
func TestDelete_KilledHalfWay(t *testing.T) {
	// On a busy machine the daemon may end before it is killed: then again with
	// more notes.
	for notes := 10_000; !deletedHalf(t, notes); notes *= 2 {
		if notes > 100_000 {
			t.Fatalf("%d notes were removed each time before the daemon was killed", notes)
		}
	}
}

// deletedHalf reports whether the daemon was killed before all of the notes were removed.
func deletedHalf(t *testing.T, notes int) bool {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	evs := make([]*nostr.Event, notes)
	for i := range evs {
		evs[i] = relaytest.Note(agent, rig.Now()-1_000_000+int64(i), fmt.Sprint("note ", i))
	}
	engram := relaytest.Memory(agent, owner.Pub, "mem/stays", "x", rig.Now()-100)
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain})
	if r := relay.Run(rig.JSONL(t, append(evs, engram)...), "import", "--data", relay.Data, "-"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	order := []string{"delete", "--data", relay.Data, "--yes", "--filter", `{"authors":["` + agent.Pub + `"]}`}
	ended := make(chan relaytest.Result, 1)
	go func() { ended <- relaytest.RunBinary(t, rig.Plain, nil, nil, order...) }()
	writer := rig.Dial(t, relay, owner)
	removed := func() float64 {
		n, err := relay.Metric(`engramd_events_removed_total{reason="operator"}`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var kept []*nostr.Event
	for deadline := time.Now().Add(5 * time.Minute); removed() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("nothing is removed")
		}
		ev := relaytest.Note(owner, rig.Now(), fmt.Sprint("beside it ", len(kept)))
		writer.Store(ev)
		kept = append(kept, ev)
	}
	relay.Kill()
	r := <-ended
	if r.Code == 0 {
		return false
	}
	if r.Code != 1 || !strings.Contains(r.Stderr, "run it again") {
		t.Fatalf("exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	relay = rig.Again(t, relay)
	if r := relay.Run(nil, "check", "--data", relay.Data); r.Code != 0 {
		t.Errorf("check: %s%s", r.Stdout, r.Stderr)
	}
	left := len(rig.Exported(t, relay))
	if left == len(kept)+1 { // killed before it could report its end
		return false
	}
	if left < len(kept)+1 || left >= notes+len(kept)+1 {
		t.Fatalf("%d events are left after the kill of %d, %d of them are to stay", left, notes+len(kept)+1, len(kept)+1)
	}
	c := rig.Dial(t, relay, owner)
	mine := relaytest.Filter{"kinds": []int{1}, "authors": []string{agent.Pub}, "limit": 5000}
	if n := len(c.MustQuery(mine).Events); n == 0 {
		t.Error("a reader sees none of those that are left")
	}
	if r := relay.Run(nil, order...); r.Code != 0 || !strings.Contains(string(r.Stdout), fmt.Sprintf("\n%d removed\n", left-len(kept)-1)) {
		t.Errorf("again: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if n := len(c.MustQuery(mine).Events); n != 0 {
		t.Errorf("a reader sees %d events that are removed", n)
	}
	all := rig.Exported(t, relay)
	for _, ev := range append(kept, engram) {
		if all[ev.ID] == nil {
			t.Errorf("an event of kind %d that did not match is gone", ev.Kind)
		}
	}
	c.Store(evs[0]) // a removed event is not banned
	return true
}
