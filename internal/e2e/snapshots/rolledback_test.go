package snapshots

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
)

// removed is what the relay answers to an event that a rollback took away.
// Agents' machines compare it: no byte of it may change.
const removed = "blocked: removed by the operator"

// TestRolledBackIsNotUndone: what a rollback took away is refused to clients, on
// the socket and over HTTP, until the operator releases it; when quarantine is
// dropped and the relay was killed it is refused as before, and an import brings
// it back. Newer versions are taken all along.
func TestRolledBackIsNotUndone(t *testing.T) {
	relay := rig.Start(t, rig.AllowRestore)
	agent, owner, at := relaytest.Agent(), relaytest.Owner().Pub, rig.Now()-50
	version := func(i int64) *nostr.Event {
		return relaytest.Memory(agent, owner, "mem/a", strings.Repeat("x", int(i)), at+i)
	}
	v1, v2, v3, fresh := version(1), version(2), version(3), relaytest.Memory(agent, owner, "mem/new", "x", at+2)
	p := rig.Dial(t, relay, agent)
	shows := func(when string, heads ...*nostr.Event) {
		t.Helper()
		all := p.MustQuery(relaytest.Filter{"kinds": []int{30174}, "authors": []string{agent.Pub}})
		rig.WantIDs(t, when, all.IDs(), rig.NewestFirst(heads...))
	}
	blocked := func(evs ...*nostr.Event) {
		t.Helper()
		for _, ev := range evs {
			if ok := p.MustPublish(ev); ok.True || ok.Message != removed {
				t.Errorf("OK %v %q", ok.True, ok.Message)
			}
			for _, base := range []string{"", "?base=" + v1.ID} {
				if r, err := relay.Post(agent, "/events"+base, wire.AppendEvent(nil, ev)); err != nil || r.Status != http.StatusForbidden || !strings.Contains(string(r.Body), `"`+removed+`"`) {
					t.Errorf("POST: %d %s, %v", r.Status, r.Body, err)
				}
			}
		}
	}
	p.Store(v1)
	id := made(t, rig.Engramd(t, relay, "snapshot", "--agent", agent.Pub, "--json")).ID
	rollback := func() (quarantine string) {
		t.Helper()
		r := relay.Run(nil, "snapshot", "restore", "--agent", agent.Pub, id, "--rollback", "--data", relay.Data)
		_, name, found := strings.Cut(r.Stderr, "engramd snapshot quarantine release ")
		if r.Code != 0 || !found || !strings.Contains(r.Stderr, "repair --accept-loss") {
			t.Fatalf("%d %s%s", r.Code, r.Stdout, r.Stderr)
		}
		return strings.Fields(name)[0]
	}
	p.Store(v2, fresh)
	name := rollback()
	blocked(v2, fresh)
	shows("rolled back", v1)
	p.Store(v3)
	blocked(v2)
	shows("written since", v3)

	rig.Engramd(t, relay, "snapshot", "quarantine", "release", name)
	shows("released", v3, fresh)
	past, err := relay.Get(agent, "/history?kind=30174&author="+agent.Pub+"&d="+v2.Tags.GetD())
	if err != nil || !strings.Contains(string(past.Body), v2.ID) || !strings.Contains(string(past.Body), v1.ID) {
		t.Errorf("history after the release: %s, %v", past.Body, err)
	}

	name = rollback()
	blocked(v2, v3, fresh)
	rig.Engramd(t, relay, "snapshot", "quarantine", "drop", name)
	blocked(v2, v3, fresh)
	relay.Kill()
	relay = rig.Again(t, relay, rig.AllowRestore)
	p = rig.Dial(t, relay, agent)
	blocked(v2, v3, fresh)
	shows("dropped and killed", v1)
	p.Store(version(4))
	if r := relay.Run(wire.AppendEvent(nil, fresh), "import", "--data", relay.Data); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	shows("imported", version(4), fresh)
	blocked(v2, v3)
}
