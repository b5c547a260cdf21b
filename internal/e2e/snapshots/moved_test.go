package snapshots

import (
	"fmt"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/nips/nipae"
)

// TestMovedAgent moves an agent to another relay, and again after further
// writes: both daemons' snapshots are equal bit by bit, with heads, history,
// deletions and contracts, and engramctl finds no difference either.
func TestMovedAgent(t *testing.T) {
	from, to := rig.Start(t), rig.Start(t)
	agent, worker, now := relaytest.Agent(), relaytest.Owner(), rig.Now()
	x := newCtl(t, from)
	for i := range 9 {
		for v := range i%3 + 1 {
			x.set(nipae.Slug(fmt.Sprintf("mem/%c", 'a'+i)), fmt.Sprintf("version %d", v))
		}
	}
	x.set(nipae.Core, "I am Sami")
	x.set("mem/c", "")
	id := strings.Repeat("ab", 32)
	named, whole := relaytest.Memory(agent, worker.Pub, "mem/named", "x", now-90), relaytest.Memory(agent, worker.Pub, "mem/whole", "x", now-90)
	mine := rig.Dial(t, from, agent)
	mine.Store(named, whole,
		relaytest.Deletion(agent, now-80, rig.Tag("e", named.ID), rig.Tag("k", "30174")),
		relaytest.Deletion(agent, now-80, rig.Tag("a", relaytest.Coordinate(30174, agent.Pub, whole.Tags.GetD())), rig.Tag("k", "30174")),
		relaytest.Sign(agent, 10002, now-70, "", rig.Tag("r", from.URL)),
		relaytest.State(agent, worker.Pub, id, "open", "", now-60))
	theirs := rig.Dial(t, from, worker)
	// Both sign within one second, and one has a slow clock.
	theirs.Store(relaytest.State(worker, agent.Pub, id, "accepted", "open", now-60), relaytest.Entry(worker, agent.Pub, id, "note", "done", now-55))
	mine.Store(relaytest.Entry(agent, worker.Pub, id, "message", "first", now-50), relaytest.Entry(agent, worker.Pub, id, "message", "second", now-49),
		relaytest.SealedEntry(agent, worker.Pub, id, "message", "between us", now-48))
	theirs.Store(relaytest.State(worker, agent.Pub, id, "submitted", "accepted", now-52))
	mine.Store(relaytest.State(agent, worker.Pub, id, "completed", "submitted", now-53))

	sync := func(lacking string) {
		t.Helper()
		if out := x.Run(0, "sync", from.URL, to.URL); !strings.Contains(out, lacking) {
			t.Fatalf("want %q: %s", lacking, out)
		}
	}
	same := func() {
		t.Helper()
		a, b := taken(t, from), taken(t, to)
		if a.HeadsRoot != b.HeadsRoot || a.BundleSHA256 != b.BundleSHA256 {
			t.Errorf("from %+v\nto   %+v", a.Artifacts, b.Artifacts)
		}
	}
	sync("took")
	same()
	sync("lacked 0, took 0")
	before := x.create()
	x.set("mem/a", "later")
	x.set("mem/a", "latest")
	x.set("mem/b", "")
	sync("lacked 2, took 3 (1 older version)")
	same()

	after := x.create()
	moved := newCtl(t, to)
	moved.Env = append(moved.Env, "ENGRAM_SNAPSHOTS="+x.Root())
	copied, _, _ := strings.Cut(moved.Run(0, "snapshot", "create", "--no-discovery"), " ")
	for snapshot, want := range map[string]string{after: "no difference", before: "mem/a"} {
		if out := x.Run(0, "snapshot", "diff", snapshot, copied); !strings.Contains(out, want) {
			t.Errorf("want %q: %s", want, out)
		}
	}
}
