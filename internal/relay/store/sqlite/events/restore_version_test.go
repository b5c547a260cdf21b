package events_test

import (
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// wantNothingCurrent wants these versions of one address in history, and no
// head.
func wantNothingCurrent(t *testing.T, s *sqlite.Store, versions ...*nostr.Event) {
	t.Helper()
	for _, ev := range versions {
		if isHead(t, s, ev) || !isHistory(t, s, ev) {
			t.Errorf("the version of %d is head: %v", ev.CreatedAt, isHead(t, s, ev))
		}
	}
	wantWhole(t, s)
}

// TestAReleasedVersionIsNotOlderThanTheHead rolls an address back whose newest
// version was deleted, and releases what that took away: the address is as it was
// before the rollback.
func TestAReleasedVersionIsNotOlderThanTheHead(t *testing.T) {
	s := storetest.MustOpen(t)
	version, old, head := alice.Engram(bob, 10, "mem/a"), alice.Engram(bob, 5, "mem/a"), alice.Engram(bob, 20, "mem/a")
	put(t, s, version, store.Stored)
	put(t, s, head, store.Replaced)
	put(t, s, alice.Delete(40, head.ID), store.Stored)
	got := switchIn(t, s, rollback(alice, 7), []staged{{store.Heads, old}})
	if got.Quarantined != 1 || !isHead(t, s, old) {
		t.Fatalf("rolled back %+v", got)
	}
	wantWhole(t, s)
	if got, err := s.ReleaseQuarantine(t.Context(), "test"); err != nil || got != (store.Restored{Stored: 1}) {
		t.Fatalf("brought back %+v, %v", got, err)
	}
	wantNothingCurrent(t, s, old, version)
	put(t, s, alice.Engram(bob, 50, "mem/a"), store.Stored)
	wantWhole(t, s)
}

// TestARollbackPassesAnExpiredHead: what expired took its versions along, and the operator
// himself brings an older one back.
func TestARollbackPassesAnExpiredHead(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	version, old := alice.Engram(bob, 10, "mem/a"), alice.Engram(bob, 5, "mem/a")
	put(t, s, version, store.Stored)
	put(t, s, alice.Fake(30174, 20, storetest.Payload("x"), old.Tags.Find("d"), nostr.Tag{"p", bob.Pub}, expires(30)), store.Replaced)
	clock.Add(time.Minute)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, s, version, store.Stale)
	got := switchIn(t, s, rollback(alice, 7), []staged{{store.Heads, old}})
	if got != (store.Restored{Stored: 1}) || !isHead(t, s, old) {
		t.Fatalf("rolled back %+v", got)
	}
	wantWhole(t, s)
}

// TestWhatWasWrittenAfterARollbackStaysCurrent releases a version into an
// address that has a newer head by then.
func TestWhatWasWrittenAfterARollbackStaysCurrent(t *testing.T) {
	s := storetest.MustOpen(t)
	version, old, since := alice.Engram(bob, 10, "mem/a"), alice.Engram(bob, 5, "mem/a"), alice.Engram(bob, 50, "mem/a")
	put(t, s, version, store.Stored)
	head := alice.Engram(bob, 20, "mem/a")
	put(t, s, head, store.Replaced)
	put(t, s, alice.Delete(40, head.ID), store.Stored)
	switchIn(t, s, rollback(alice, 7), []staged{{store.Heads, old}})
	put(t, s, since, store.Replaced)
	if _, err := s.ReleaseQuarantine(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if !isHead(t, s, since) || !isHistory(t, s, version) || !isHistory(t, s, old) {
		t.Error("the newest version is not the head")
	}
	wantWhole(t, s)
}

// TestAReleasedHeadIsHistoryOfANewerOne: what was written after a rollback does
// not cost the text that the rollback took.
func TestAReleasedHeadIsHistoryOfANewerOne(t *testing.T) {
	s := storetest.MustOpen(t)
	old, head, since := alice.Engram(bob, 5, "mem/a"), alice.Engram(bob, 10, "mem/a"), alice.Engram(bob, 50, "mem/a")
	put(t, s, old, store.Stored)
	put(t, s, head, store.Replaced)
	switchIn(t, s, rollback(alice, 7), []staged{{store.Heads, old}})
	put(t, s, since, store.Replaced)
	if got, err := s.ReleaseQuarantine(t.Context(), "test"); err != nil || got != (store.Restored{Stored: 1}) {
		t.Errorf("brought back %+v, %v", got, err)
	}
	heldAs(t, s, since, head, old)
	put(t, s, head, store.Duplicate)
	wantWhole(t, s)
}

// TestARestoredVersionSupersedesAnOlderHead repairs an address from a snapshot
// whose head may not come back, where an older version is head.
func TestARestoredVersionSupersedesAnOlderHead(t *testing.T) {
	for name, pick := range map[string]struct {
		of   func(created int64) *nostr.Event
		part store.Part
	}{
		"engram":         {func(at int64) *nostr.Event { return alice.Engram(bob, at, "mem/a") }, store.Heads},
		"contract entry": {func(at int64) *nostr.Event { return alice.Entry(bob, at, "contract-1", "x") }, store.Contracts},
	} {
		for mode, o := range map[string]store.RestoreOptions{"repair": repair(alice), "rollback": rollback(alice, 30)} {
			t.Run(name+", "+mode, func(t *testing.T) {
				s := storetest.MustOpen(t)
				here, version, head := pick.of(0), pick.of(1), pick.of(2)
				put(t, s, here, store.Stored)
				put(t, s, alice.Delete(40, head.ID), store.Stored)
				switchIn(t, s, o, []staged{{store.Versions, version}, {pick.part, head}})
				wantWhole(t, s)
				if pick.part == store.Heads {
					wantNothingCurrent(t, s, here, version)
				}
			})
		}
	}
}

// TestAVersionThatIsNotKeptChangesNothing repairs a store that keeps no
// versions.
func TestAVersionThatIsNotKeptChangesNothing(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = -1 })
	here := alice.Engram(bob, 0, "mem/a")
	put(t, s, here, store.Stored)
	got := switchIn(t, s, repair(alice), []staged{{store.Versions, alice.Engram(bob, 1, "mem/a")}})
	if got != (store.Restored{Kept: 1}) || !isHead(t, s, here) || rows(t, s, "history") != 0 {
		t.Errorf("restored %+v", got)
	}
	wantWhole(t, s)
}
