package crash

import (
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/sys/unix"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// A SIGKILL does not lose the page cache, so the crash test cannot tell a relay
// that syncs from one that does not. These tests can: they see each fsync of
// the daemon through a preloaded library. That journal_mode and synchronous are
// what they should be is read from the live writer in internal/relay/store/sqlite/events.

// eachKind returns one event for every path of the writer that answers OK true.
func eachKind(agent, owner relaytest.Key, at int64) []*nostr.Event {
	note, contract := relaytest.Note(agent, at, "to be deleted"), agent.Pub[:32]
	return []*nostr.Event{
		relaytest.Note(agent, at, "a note"),
		note,
		relaytest.Sign(agent, 0, at, `{"name":"agent"}`),
		relaytest.Sign(agent, 0, at+1, `{"name":"replaced"}`),
		relaytest.Memory(agent, owner.Pub, "core", "profile", at),
		relaytest.Memory(agent, owner.Pub, "core", "superseding", at+1),
		relaytest.Entry(agent, owner.Pub, contract, "message", "an entry", at),
		relaytest.State(agent, owner.Pub, contract, "open", "", at),
		relaytest.Deletion(agent, at+2, rig.Tag("e", note.ID), rig.Tag("k", "1")),
	}
}

func TestPower_FsyncBeforeOK(t *testing.T) {
	syncs := rig.WatchFsyncs(t)
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: syncs.Env})
	c := rig.Dial(t, relay)
	base := rig.Now() - 3600
	for round := range 10 {
		for _, ev := range eachKind(relaytest.NewKey(uint64(100+round)), relaytest.Owner(), base) {
			wantSynced(t, syncs, c, ev)
		}
	}
}

// wantSynced publishes ev and fails unless a sync of the WAL began after the
// frame was sent and returned before the OK arrived.
func wantSynced(t *testing.T, syncs *rig.Fsyncs, c *rig.Peer, ev *nostr.Event) {
	t.Helper()
	since, sent := syncs.Calls(), monotonic(t)
	ok := c.MustPublish(ev)
	received := monotonic(t)
	if !ok.True {
		t.Fatalf("kind %d: OK false %q", ev.Kind, ok.Message)
	}
	if !syncs.WalWithin(since, sent, received) {
		t.Errorf("kind %d: OK true without a sync of the WAL between frame and OK (%d syncs of any file)", ev.Kind, syncs.Calls()-since)
	}
}

func TestPower_SlowDiskDelaysOK(t *testing.T) {
	const delay = 300 * time.Millisecond
	syncs := rig.WatchFsyncs(t)
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: syncs.Env})
	c := rig.Dial(t, relay)
	base := rig.Now() - 3600
	c.Store(relaytest.Note(relaytest.Agent(), base, "before the disk is slow"))
	syncs.Delay(uint64(delay.Microseconds()))
	for _, ev := range eachKind(relaytest.Agent(), relaytest.Owner(), base)[:4] {
		start := time.Now()
		wantSynced(t, syncs, c, ev)
		if took := time.Since(start); took < delay {
			t.Errorf("kind %d: OK after %v although the sync takes %v", ev.Kind, took, delay)
		}
	}
	wantGroupSynced(t, syncs, c, base)
	syncs.Delay(0)
}

// wantGroupSynced publishes a burst without waiting: its OKs may share syncs,
// and still none of them may come before a sync that began after the burst.
func wantGroupSynced(t *testing.T, syncs *rig.Fsyncs, c *rig.Peer, base int64) {
	t.Helper()
	var burst []*nostr.Event
	for i := range 20 {
		burst = append(burst, relaytest.Note(relaytest.Agent(), base+int64(i), fmt.Sprintf("burst %d", i)))
	}
	since, sent := syncs.Calls(), monotonic(t)
	for _, ev := range burst {
		c.MustSend("EVENT", ev)
	}
	for _, ev := range burst {
		f := c.Expect("OK")
		received := monotonic(t)
		if ok := f.OK(); !ok.True || ok.ID != ev.ID {
			t.Errorf("burst: %s, want OK true for %s", f.Raw, ev.ID)
		}
		if !syncs.WalWithin(since, sent, received) {
			t.Errorf("burst: OK true before a sync of the WAL had returned")
		}
	}
}

func TestPower_FailedSyncIsNoOK(t *testing.T) {
	syncs := rig.WatchFsyncs(t)
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: syncs.Env})
	c := rig.Dial(t, relay)
	base := rig.Now() - 3600
	kept := relaytest.Note(relaytest.Agent(), base, "kept")
	lost := relaytest.Note(relaytest.Agent(), base+1, "the disk fails under this one")
	c.Store(kept)

	syncs.Fail(uint64(unix.EIO))
	rig.WantRefusal(t, "a write whose sync fails", c.MustPublish(lost), "error: ")
	rig.WantIDs(t, "reads beside a failing disk", c.MustQuery(relaytest.Filter{"kinds": []int{1}}).IDs(), rig.IDs(kept))

	syncs.Fail(0)
	if ok := c.MustPublish(lost); !ok.True {
		t.Fatalf("the same event on a disk that works again: OK false %q", ok.Message)
	}
	relay.Kill()
	c = rig.Dial(t, rig.Again(t, relay))
	rig.WantIDs(t, "after a kill", c.MustQuery(relaytest.Filter{"kinds": []int{1}}).IDs(), rig.IDs(lost, kept))
}
