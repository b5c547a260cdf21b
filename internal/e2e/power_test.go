package e2e

import (
	"fmt"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/sys/unix"
)

// A SIGKILL does not lose the page cache, so the crash test cannot tell a relay
// that syncs from one that does not. These tests can: they see each fsync of
// the daemon through a preloaded library. That journal_mode and synchronous are
// what they should be is read from the live writer in internal/store/sqlite.

// eachKind is one event for every path of the writer that answers OK true.
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
		relaytest.Deletion(agent, at+2, tag("e", note.ID), tag("k", "1")),
	}
}

func TestPower_FsyncBeforeOK(t *testing.T) {
	syncs := watchFsyncs(t)
	relay := relaytest.Start(t, relaytest.Options{Build: plain, Env: syncs.env})
	c := dial(t, relay)
	base := now() - 3600
	for round := range 10 {
		for _, ev := range eachKind(relaytest.NewKey(uint64(100+round)), relaytest.Owner(), base) {
			wantSynced(t, syncs, c, ev)
		}
	}
}

// wantSynced publishes ev and wants a sync of the WAL that began after the
// frame was sent and had returned before the OK was received.
func wantSynced(t *testing.T, syncs *fsyncs, c *peer, ev *nostr.Event) {
	t.Helper()
	since, sent := syncs.calls(), monotonic(t)
	ok := c.publish(ev)
	received := monotonic(t)
	if !ok.True {
		t.Fatalf("kind %d: OK false %q", ev.Kind, ok.Message)
	}
	if !syncs.walWithin(since, sent, received) {
		t.Errorf("kind %d: OK true without a sync of the WAL between frame and OK (%d syncs of any file)", ev.Kind, syncs.calls()-since)
	}
}

func TestPower_SlowDiskDelaysOK(t *testing.T) {
	const delay = 300 * time.Millisecond
	syncs := watchFsyncs(t)
	relay := relaytest.Start(t, relaytest.Options{Build: plain, Env: syncs.env})
	c := dial(t, relay)
	base := now() - 3600
	c.store(relaytest.Note(relaytest.Agent(), base, "before the disk is slow"))
	syncs.delay(uint64(delay.Microseconds()))
	for _, ev := range eachKind(relaytest.Agent(), relaytest.Owner(), base)[:4] {
		start := time.Now()
		wantSynced(t, syncs, c, ev)
		if took := time.Since(start); took < delay {
			t.Errorf("kind %d: OK after %v although the sync takes %v", ev.Kind, took, delay)
		}
	}
	wantGroupSynced(t, syncs, c, base)
	syncs.delay(0)
}

// wantGroupSynced publishes a burst without waiting: its OKs may share syncs,
// and still none of them may come before a sync that began after the burst.
func wantGroupSynced(t *testing.T, syncs *fsyncs, c *peer, base int64) {
	t.Helper()
	var burst []*nostr.Event
	for i := range 20 {
		burst = append(burst, relaytest.Note(relaytest.Agent(), base+int64(i), fmt.Sprintf("burst %d", i)))
	}
	since, sent := syncs.calls(), monotonic(t)
	for _, ev := range burst {
		c.send("EVENT", ev)
	}
	for _, ev := range burst {
		f := c.expect("OK")
		received := monotonic(t)
		if ok := f.OK(); !ok.True || ok.ID != ev.ID {
			t.Errorf("burst: %s, want OK true for %s", f.Raw, ev.ID)
		}
		if !syncs.walWithin(since, sent, received) {
			t.Errorf("burst: OK true before a sync of the WAL had returned")
		}
	}
}

func TestPower_FailedSyncIsNoOK(t *testing.T) {
	syncs := watchFsyncs(t)
	relay := relaytest.Start(t, relaytest.Options{Build: plain, Env: syncs.env})
	c := dial(t, relay)
	base := now() - 3600
	kept := relaytest.Note(relaytest.Agent(), base, "kept")
	lost := relaytest.Note(relaytest.Agent(), base+1, "the disk fails under this one")
	c.store(kept)

	syncs.fail(uint64(unix.EIO))
	wantRefusal(t, "a write whose sync fails", c.publish(lost), "error: ")
	wantIDs(t, "reads beside a failing disk", c.query(relaytest.Filter{"kinds": []int{1}}).IDs(), ids(kept))

	syncs.fail(0)
	if ok := c.publish(lost); !ok.True {
		t.Fatalf("the same event on a disk that works again: OK false %q", ok.Message)
	}
	relay.Kill()
	c = dial(t, again(t, relay))
	wantIDs(t, "after a kill", c.query(relaytest.Filter{"kinds": []int{1}}).IDs(), ids(lost, kept))
}
