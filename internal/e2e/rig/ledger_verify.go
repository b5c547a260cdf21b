package rig

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// Verify compares the ledger with an export of the heads and one of all, and
// returns what is wrong: what was acknowledged by one moment has to be there, and
// nothing may be that was sent after another.
func (b *Ledger) Verify(heads, all Events, kept, sent int64) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	wrong := slices.Clone(b.surprises)
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	deleted := map[string]bool{}    // ids that a stored deletion names
	deletedTo := map[string]int64{} // per address, the time of the last stored deletion
	for _, e := range b.log {
		if e.ev.Kind == relaytest.KindDelete && heads[e.ev.ID] != nil {
			for _, id := range e.targets {
				deleted[id] = true
			}
			if e.deletes != "" {
				deletedTo[e.deletes] = max(deletedTo[e.deletes], int64(e.ev.CreatedAt))
			}
		}
	}
	newest := map[string]*nostr.Event{} // per address, of what is stored
	for _, e := range b.log {
		gone := deleted[e.ev.ID] || e.address != "" && int64(e.ev.CreatedAt) <= deletedTo[e.address]
		there := all[e.ev.ID] != nil
		switch {
		case there && e.sent > sent:
			fault("kind %d of %d is there before it was sent", e.ev.Kind, e.ev.CreatedAt)
		case there && e.refused != never && e.refused <= kept:
			fault("kind %d of %d was refused and is there", e.ev.Kind, e.ev.CreatedAt)
		case gone && there:
			fault("kind %d of %d is there although its deletion is stored", e.ev.Kind, e.ev.CreatedAt)
		case !gone && !there && e.kept != never && e.kept <= kept:
			fault("kind %d of %d was acknowledged and is lost", e.ev.Kind, e.ev.CreatedAt)
		}
		if there && e.address != "" {
			newest[e.address] = e.ev // the log is in order of created_at
		}
		if there && e.address == "" && heads[e.ev.ID] == nil {
			fault("kind %d of %d is stored, but not as a head", e.ev.Kind, e.ev.CreatedAt)
		}
	}
	for _, e := range b.log {
		if e.address == "" {
			continue
		}
		if isHead := heads[e.ev.ID] != nil; isHead != (newest[e.address] == e.ev) {
			fault("kind %d of %d: head %v, newest that is stored %v", e.ev.Kind, e.ev.CreatedAt, isHead, !isHead)
		}
	}
	for id, ev := range all {
		if ev.PubKey == b.Key.Pub && b.sent[id] == nil {
			fault("kind %d %s is stored, and nobody sent it", ev.Kind, id)
		}
	}
	return wrong
}

// VerifyReads fails unless the owner's query returns the same heads as the
// export, one for each address.
func (b *Ledger) VerifyReads(t *testing.T, c *Peer, heads map[string]*nostr.Event) {
	t.Helper()
	want := 0
	for _, ev := range heads {
		if ev.PubKey == b.Key.Pub && ev.Kind == relaytest.KindEngram {
			want++
		}
	}
	filter := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{b.Key.Pub}, "#p": []string{b.Owner.Pub}}
	got := c.MustQuery(filter)
	seen := map[string]bool{}
	for _, ev := range got.Events {
		if heads[ev.ID] == nil || seen[ev.Tags.GetD()] {
			t.Errorf("REQ brought %s, which is no head or a second one of its address", ev.ID)
		}
		seen[ev.Tags.GetD()] = true
	}
	if len(got.Events) != want || c.MustCount(filter) != int64(want) {
		t.Errorf("REQ brought %d heads, export has %d", len(got.Events), want)
	}
}
