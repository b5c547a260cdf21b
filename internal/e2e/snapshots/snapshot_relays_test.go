package snapshots

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/snapshot/bundle"
)

// TestCaptureWithALaggingRelay: a relay that missed a request to vanish, a
// deletion or newer versions still shows old events. A capture from it and an
// up-to-date relay equals the latter's own, and contains none of the old
// events.
func TestCaptureWithALaggingRelay(t *testing.T) {
	ahead, lagging := rig.Start(t), rig.Start(t)
	agent, owner, at := relaytest.Agent(), relaytest.Owner(), rig.Now()-1000
	memory := func(slug string, after int64) *nostr.Event {
		return relaytest.Memory(agent, owner.Pub, slug, "text", at+after)
	}
	vanish := relaytest.Sign(agent, 62, at+50, "", nostr.Tag{"relay", "ALL_RELAYS"})
	named, shared := memory("mem/deleted", 60), memory("mem/a", 61)
	deletion := relaytest.Deletion(agent, at+70, nostr.Tag{"e", named.ID}, nostr.Tag{"k", "30174"})
	before := []*nostr.Event{
		memory("mem/a", 1), memory("mem/b", 2), memory("mem/b", 3), relaytest.Sign(agent, 10002, at+4, "", nostr.Tag{"r", lagging.URL, "read"}),
		relaytest.Entry(agent, owner.Pub, strings.Repeat("ab", 32), "note", "one", at+5),
	}
	after := []*nostr.Event{shared, memory("mem/c", 62)}
	behind := rig.Dial(t, lagging, agent)
	behind.Store(append(before, named, shared)...)
	front := rig.Dial(t, ahead, agent)
	front.Store(append(append(before, vanish, named, deletion), after...)...)

	x := newCtl(t, ahead)
	for i, v := range x.Env {
		if strings.HasPrefix(v, "ENGRAM_RELAYS=") {
			x.Env[i] = v + " " + lagging.URL
		}
	}
	id := x.create()
	rig.Engramd(t, ahead, "snapshot", "--agent", agent.Pub)
	client, daemon := onlyManifest(t, x.Root()), onlyManifest(t, ahead.Data)
	if client.BundleSHA256 != daemon.BundleSHA256 || client.Consistency != bundle.StableListing || !client.Whole() {
		t.Errorf("client %+v\ndaemon %+v", client, daemon)
	}
	if n := client.Artifacts[bundle.Heads].Count; n != 2 {
		t.Errorf("%d heads, want what was written since", n)
	}
	if out := x.Run(0, "snapshot", "restore", "--id", id, "--dry-run"); !strings.Contains(out, "nothing to do") {
		t.Errorf("going back to it at once: %s", out)
	}
}
