package events_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

type staged struct {
	part store.Part
	ev   *nostr.Event
}

// snapshotOf reads what a bundle would hold of an agent.
func snapshotOf(t *testing.T, s *sqlite.Store, agent storetest.Key) []staged {
	t.Helper()
	var out []staged
	err := s.Capture(t.Context(), gate.Operator(), store.CaptureQuery{Agent: agent.Pub}, func(v store.View) error {
		for _, p := range parts {
			err := v.Each(t.Context(), p, func(json []byte) error {
				ev, err := wire.ParseEvent(json)
				out = append(out, staged{p, ev})
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func stage(t *testing.T, s *sqlite.Store, o store.RestoreOptions, list []staged) store.Restoration {
	t.Helper()
	r, err := s.BeginRestore(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := r.Add(t.Context(), e.part, e.ev); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func switchIn(t *testing.T, s *sqlite.Store, o store.RestoreOptions, list []staged) store.Restored {
	t.Helper()
	got, err := stage(t, s, o, list).Switch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := rows(t, s, "staged"); n != 0 {
		t.Errorf("%d rows are left in staging", n)
	}
	return got
}

func repair(agent storetest.Key) store.RestoreOptions {
	return store.RestoreOptions{Mode: store.Repair, Agent: agent.Pub}
}

func rollback(agent storetest.Key, asOf int64) store.RestoreOptions {
	return store.RestoreOptions{Mode: store.Rollback, Agent: agent.Pub, Name: "test", AsOf: storetest.Start.Unix() + asOf}
}

// memory fills a store with an agent's memory and returns its heads by slug.
func memory(t *testing.T, s *sqlite.Store) {
	t.Helper()
	for _, ev := range []*nostr.Event{
		alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 10, "mem/a"), alice.Engram(bob, 20, "mem/a"),
		alice.Engram(bob, 5, "mem/b"), alice.Sign(10002, 1, "", nostr.Tag{"r", "wss://one.example"}),
		alice.Entry(bob, 1, "contract-1", "old"), alice.Entry(bob, 2, "contract-1", "new"), bob.Entry(alice, 3, "contract-1", "hi"),
	} {
		if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
			t.Fatalf("%+v", r)
		}
	}
}

func TestRepairFillsAnEmptyStoreAndRepeats(t *testing.T) {
	from, to := storetest.MustOpen(t), storetest.MustOpen(t)
	memory(t, from)
	list := snapshotOf(t, from, alice)
	if got, want := switchIn(t, to, repair(alice), list), (store.Restored{Stored: 8}); got != want {
		t.Errorf("restored %+v, want %+v", got, want)
	}
	wantParts(t, captured(t, to, alice, nil), captured(t, from, alice, nil))
	for range 2 {
		if got, want := switchIn(t, to, repair(alice), list), (store.Restored{Present: 8}); got != want {
			t.Errorf("again: %+v, want %+v", got, want)
		}
	}
	wantWhole(t, to)
}

func TestRepairReplacesNothingNewerAndRevivesNothingDeleted(t *testing.T) {
	s := storetest.MustOpen(t)
	memory(t, s)
	list := snapshotOf(t, s, alice)
	newer := alice.Engram(bob, 30, "mem/a")
	put(t, s, newer, store.Replaced)
	gone := alice.Engram(bob, 5, "mem/b")
	put(t, s, alice.Delete(40, storetest.Address(gone)), store.Stored)
	put(t, s, bob.Vanish(50), store.Stored)
	got := switchIn(t, s, repair(alice), list)
	if !isHead(t, s, newer) || isHead(t, s, gone) || rows(t, s, "events WHERE kind = 30090") != 1 {
		t.Errorf("restored %+v", got)
	}
	if got.Deleted != 2 {
		t.Errorf("restored %+v, want 2 deleted", got)
	}
	wantWhole(t, s)
}

// TestAVersionNeverBecomesHead restores history of an address whose head the
// bundle does not have.
func TestAVersionNeverBecomesHead(t *testing.T) {
	s := storetest.MustOpen(t)
	old, entry := alice.Engram(bob, 0, "mem/a"), alice.Entry(bob, 0, "contract-1", "old")
	got := switchIn(t, s, repair(alice), []staged{{store.Versions, old}, {store.Versions, entry}})
	if got.Stored != 2 || !isHistory(t, s, old) || !isHistory(t, s, entry) || rows(t, s, "events") != 0 {
		t.Errorf("restored %+v", got)
	}
	wantWhole(t, s)
}

func TestRollbackBringsTheHeadsBack(t *testing.T) {
	s := storetest.MustOpen(t)
	memory(t, s)
	list, before := snapshotOf(t, s, alice), captured(t, s, alice, nil)
	bad := []*nostr.Event{alice.Engram(bob, 31, "mem/a"), alice.Engram(bob, 32, "mem/a"), alice.Engram(bob, 33, "mem/new"),
		alice.Sign(10002, 34, "", nostr.Tag{"r", "wss://two.example"})}
	for _, ev := range bad {
		s.Put(t.Context(), ev, store.PutOptions{})
	}
	kept := alice.Entry(bob, 35, "contract-1", "said since")
	put(t, s, kept, store.Replaced)
	other := bob.Engram(alice, 36, "mem/a")
	put(t, s, other, store.Stored)

	got := switchIn(t, s, rollback(alice, 30), list)
	if got.Quarantined != 4 || got.Stored != 2 || got.Replaced != 0 {
		t.Errorf("restored %+v", got)
	}
	after := captured(t, s, alice, nil)
	for _, p := range []store.Part{store.Heads, store.Relays} {
		wantParts(t, map[store.Part][]string{p: after[p]}, map[store.Part][]string{p: before[p]})
	}
	if !isHead(t, s, kept) || !isHead(t, s, other) {
		t.Error("the rollback touched contract memory or another agent")
	}
	for _, ev := range bad {
		if isHead(t, s, ev) || isHistory(t, s, ev) {
			t.Errorf("kind %d at %d is still there", ev.Kind, ev.CreatedAt)
		}
	}
	if got := switchIn(t, s, rollback(alice, 30), list); got.Quarantined != 0 || got.Stored != 0 {
		t.Errorf("again: %+v", got)
	}
	wantWhole(t, s)

	list2, err := s.Quarantines(t.Context(), gate.Operator())
	if err != nil || len(list2) != 1 || list2[0].Name != "test" || list2[0].Heads != 3 || list2[0].Versions != 1 {
		t.Fatalf("quarantine %+v, %v", list2, err)
	}
	back, err := s.ReleaseQuarantine(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if !isHead(t, s, bad[1]) || !isHead(t, s, bad[2]) || !isHead(t, s, bad[3]) || !isHistory(t, s, bad[0]) {
		t.Errorf("brought back %+v", back)
	}
	if _, err := s.ReleaseQuarantine(t.Context(), "test"); !errors.Is(err, store.ErrNoQuarantine) {
		t.Errorf("error %v", err)
	}
	wantWhole(t, s)
}

func TestWhatItsAuthorDeletesLeavesQuarantine(t *testing.T) {
	for name, remove := range map[string]func(ev *nostr.Event) *nostr.Event{
		"by id":      func(ev *nostr.Event) *nostr.Event { return alice.Delete(60, ev.ID) },
		"by address": func(ev *nostr.Event) *nostr.Event { return alice.Delete(60, storetest.Address(ev)) },
		"vanish":     func(*nostr.Event) *nostr.Event { return alice.Vanish(60) },
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.MustOpen(t)
			bad := alice.Engram(bob, 33, "mem/new")
			put(t, s, bad, store.Stored)
			switchIn(t, s, rollback(alice, 30), nil)
			if rows(t, s, "quarantine") != 1 {
				t.Fatal("nothing is in quarantine")
			}
			put(t, s, bob.Delete(60, bad.ID), store.Stored)
			if rows(t, s, "quarantine") != 1 {
				t.Error("a stranger's request emptied it")
			}
			put(t, s, remove(bad), store.Stored)
			if rows(t, s, "quarantine") != 0 {
				t.Error("still in quarantine")
			}
		})
	}
}

func TestQuarantineEndsWithHistory(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock, o.Days = clock.Now, 10 })
	put(t, s, alice.Engram(bob, 33, "mem/new"), store.Stored)
	switchIn(t, s, rollback(alice, 30), nil)
	clock.Add(9 * 24 * time.Hour)
	s.Sweep(t.Context())
	if rows(t, s, "quarantine") != 1 {
		t.Error("gone too early")
	}
	clock.Add(2 * 24 * time.Hour)
	s.Sweep(t.Context())
	if rows(t, s, "quarantine") != 0 {
		t.Error("still there")
	}
}

// TestReadersSeeNoMixture rolls forth and back between two states of ten heads
// while pages are read: every page that was read without a restore in between
// is of one state.
func TestReadersSeeNoMixture(t *testing.T) {
	s := storetest.MustOpen(t)
	slugs := []string{"mem/0", "mem/1", "mem/2", "mem/3", "mem/4", "mem/5", "mem/6", "mem/7", "mem/8", "mem/9"}
	var states [2][]staged
	for i := range states {
		for _, slug := range slugs {
			states[i] = append(states[i], staged{store.Heads, alice.Engram(bob, int64(i), slug)})
		}
	}
	switchIn(t, s, rollback(alice, 100), states[0])
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	table := storetest.MustTable(t, gate.Options{})
	filter := nostr.Filter{Kinds: []int{30174}, Authors: []string{alice.Pub}}
	scope, err := table.ScopeFor(gate.NewReader(alice.Pub), filter)
	if err != nil {
		t.Fatal(err)
	}
	var read atomic.Int64
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				before := s.Restores()
				page, err := s.Query(t.Context(), store.Ask{Scope: scope, Filter: filter, MaxRows: 100})
				if err != nil {
					t.Error(err)
					return
				}
				if moved, err := s.RestoredSince(t.Context(), before); err != nil || moved {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				read.Add(1)
				if len(page.Rows) != len(slugs) {
					t.Errorf("%d rows", len(page.Rows))
					return
				}
				for _, row := range page.Rows[1:] {
					if row.CreatedAt != page.Rows[0].CreatedAt {
						t.Error("a page of two states")
					}
				}
			}
		})
	}
	for i := 0; i < 40 || read.Load() < 40; i++ {
		switchIn(t, s, rollback(alice, 100), states[(i+1)%2])
	}
	stop()
	wg.Wait()
}

// TestRestoredEventsReachLiveReaders wants every event that became head, once,
// after the commit.
func TestRestoredEventsReachLiveReaders(t *testing.T) {
	live := map[string]int{}
	from := storetest.MustOpen(t)
	memory(t, from)
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit = func(list []store.Committed) {
			for _, c := range list {
				live[c.Event.ID]++
			}
		}
	})
	switchIn(t, s, repair(alice), snapshotOf(t, from, alice))
	var want []string
	got := captured(t, s, alice, nil)
	for _, p := range []store.Part{store.Heads, store.Relays, store.Contracts} {
		want = append(want, got[p]...)
	}
	for _, id := range want {
		if live[id] != 1 {
			t.Errorf("event delivered %d times", live[id])
		}
	}
	if len(live) != len(want) {
		t.Errorf("%d events delivered, want %d", len(live), len(want))
	}
}

func TestStagingIsSweptAtOpen(t *testing.T) {
	opts := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	r := stage(t, s, repair(alice), []staged{{store.Heads, alice.Engram(bob, 0, "mem/a")}})
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows(t, s, "staged") != 1 {
		t.Fatal("nothing is staged")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlite.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if rows(t, s, "staged") != 0 {
		t.Error("staging was not swept")
	}
}

func TestDroppedStagingLeavesNothing(t *testing.T) {
	s := storetest.MustOpen(t)
	r := stage(t, s, repair(alice), []staged{{store.Heads, alice.Engram(bob, 0, "mem/a")}})
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows(t, s, "staged") != 0 || rows(t, s, "events") != 0 {
		t.Error("something is left")
	}
}

func TestRestoreRefusesBadOptions(t *testing.T) {
	s := storetest.MustOpen(t)
	for name, o := range map[string]store.RestoreOptions{
		"no agent":           {},
		"agent is no key":    {Agent: "npub"},
		"rollback, no name":  {Agent: alice.Pub, Mode: store.Rollback},
		"agent in upper hex": {Agent: "A" + alice.Pub[1:]},
	} {
		if _, err := s.BeginRestore(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestARestoreBringsBackNothingBanned(t *testing.T) {
	s := storetest.MustOpen(t)
	old, head := alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 1, "mem/b")
	for _, ev := range []*nostr.Event{old, head} {
		err := s.Administer(t.Context(), &store.AdminEntry{List: store.AdminEvents, Key: ev.ID, Verdict: store.AdminBanned},
			store.AdminCall{Key: alice.Pub, Auth: strings.Repeat("a", 64), Method: "banevent", Outcome: "ok"})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := switchIn(t, s, repair(alice), []staged{{store.Versions, old}, {store.Heads, head}})
	if got.Deleted != 2 || isHistory(t, s, old) || isHead(t, s, head) {
		t.Errorf("restored %+v", got)
	}
}
