package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	frames "engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestSyncIsCheap: when 100 of 100,000 events differ between two relays, or 20
// of 20,000 in the short form, engramd sync costs at most 2 % of the bytes of
// reading them all, history included, and leaves the relays alike.
func TestSyncIsCheap(t *testing.T) {
	all, differing := 100_000, 100
	if testing.Short() {
		all, differing = 20_000, 20
	}
	shared := make([]*nostr.Event, 0, all)
	author := storetest.NewKey("somebody")
	for i := range all - differing {
		shared = append(shared, author.Fake(1, int64(i*7), fmt.Sprint("note ", i, ", which both have"), nostr.Tag{"t", "alpha"}))
	}
	var more []*nostr.Event // only the source has them; these are verified
	for i := range differing {
		at := storetest.Start.Unix() + int64(i*(all/differing)*7)
		more = append(more, relaytest.Note(agent, at+3, fmt.Sprint("note ", i, ", which one has")))
	}
	full := 0
	for _, ev := range append(shared, more...) {
		full += len(frames.AppendEventFrame(nil, "q1", frames.AppendEvent(nil, ev)))
	}
	way := newWire(t)
	follows := gate.Options{Replicas: []string{follower.Pub}}
	source := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Data: rig.DataOf(t, follows, slices.Values(append(shared, more...))), Config: lets(fmt.Sprintf("public_url = [%q]\n", way.url()))})
	target := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Data: rig.DataOf(t, follows, slices.Values(shared)), Config: lets("")})
	way.leadTo(strings.TrimPrefix(source.URL, "ws://"))
	key := keyFile(t, follower)
	got := target.Run(nil, "sync", "--data", target.Data, "--key-file", key, way.url())
	if want := fmt.Sprintf("%s: %d taken, 0 known, 0 deleted here, 0 refused\n", way.url(), differing); got.Code != 0 || string(got.Stdout) != want {
		t.Fatalf("exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
	first := way.bytes.Load()
	t.Logf("%d bytes, %.2f %% of %d", first, 100*float64(first)/float64(full), full)
	if first > int64(full)/50 {
		t.Errorf("%d bytes, more than 2 %% of %d", first, full)
	}
	if got := target.Run(nil, "sync", "--data", target.Data, "--key-file", key, way.url()); got.Code != 0 || !strings.Contains(string(got.Stdout), ": 0 taken, 0 known") {
		t.Fatalf("again: exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
	if again := way.bytes.Load() - first; again > 16<<10 { // handshakes, the key, and a few empty answers
		t.Errorf("%d bytes when nothing differs", again)
	}
}
