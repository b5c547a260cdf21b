package snapshots

import (
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// TestProposalsAreInNoBundle: a bundle holds what the agent has signed, its
// answers too. What others propose to it is in none, in no version, and no
// restore touches it.
func TestProposalsAreInNoBundle(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Settings.RestoreAllow = true })
	stranger := storetest.NewKey("stranger")
	put := func(ev *nostr.Event) *nostr.Event {
		t.Helper()
		if r := w.store.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
			t.Fatalf("%+v", r)
		}
		return ev
	}
	propose := func(by storetest.Key, d string, at int64) *nostr.Event {
		return put(by.Sign(30174, at, storetest.Payload(d), nostr.Tag{"d", strings.Repeat(d, 64)}, nostr.Tag{"p", agent.Pub}))
	}
	memory := w.put("mem/a", 0)
	answer := put(agent.Sign(30174, 1, storetest.Payload("answer"), nostr.Tag{"d", strings.Repeat("e", 64)}, nostr.Tag{"p", stranger.Pub}))
	before := w.create()
	propose(owner, "a", 2)
	head := propose(owner, "a", 3) // over the one before it
	other := propose(stranger, "b", 4)
	gone := propose(owner, "c", 5)
	put(owner.Sign(5, 6, "", nostr.Tag{"e", gone.ID}, nostr.Tag{"k", "30174"}))
	w.clock.Add(time.Minute)
	after := w.create()
	if after.HeadsRoot != before.HeadsRoot {
		t.Error("proposals changed the heads")
	}
	b, report, err := bundle.Open(t.Context(), after.Path, bundle.VerifyOptions{})
	if err != nil || !report.OK() {
		t.Fatal(report.Err(), err)
	}
	defer b.Release()
	ids := map[string]bool{}
	for _, class := range bundle.Classes() {
		err := b.Events(t.Context(), class, func(json []byte) error {
			ev, err := bundle.ParseEvent(json)
			if err == nil && ev.PubKey != agent.Pub {
				t.Errorf("the bundle has an event of kind %d of somebody else", ev.Kind)
			}
			if err == nil {
				ids[ev.ID] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) != 2 || !ids[memory.ID] || !ids[answer.ID] {
		t.Errorf("the bundle has %d events", len(ids))
	}
	if _, err := w.Restore(t.Context(), RestoreRequest{Which: which(before.ID), Mode: snapshot.Rollback}); err != nil {
		t.Fatal(err)
	}
	for _, ev := range []*nostr.Event{head, other} {
		if got := storetest.Visible(t, w.store, nostr.Filter{IDs: []string{ev.ID}}); len(got) != 1 {
			t.Error("a rollback took a proposal away")
		}
	}
}
