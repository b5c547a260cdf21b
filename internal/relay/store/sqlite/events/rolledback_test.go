package events_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

// rolledBack is a store where a rollback kept the first of three versions, and
// took away the second, which was history, the third, and a memory and a relay
// list that were new.
func rolledBack(t *testing.T, change ...func(*sqlite.Options)) (s *sqlite.Store, v, taken []*nostr.Event) {
	t.Helper()
	s = storetest.MustOpen(t, change...)
	v = []*nostr.Event{alice.Engram(bob, 1, "mem/a"), alice.Engram(bob, 2, "mem/a"), alice.Engram(bob, 3, "mem/a"), alice.Engram(bob, 4, "mem/a")}
	taken = []*nostr.Event{v[1], v[2], alice.Engram(bob, 3, "mem/new"), alice.Sign(10002, 3, "", nostr.Tag{"r", "wss://two.example"})}
	put(t, s, v[0], store.Stored)
	list := snapshotOf(t, s, alice)
	for _, ev := range taken {
		if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
			t.Fatalf("%+v", r)
		}
	}
	if got := switchIn(t, s, rollback(alice, 1), list); got.Quarantined != 4 {
		t.Fatalf("restored %+v", got)
	}
	return s, v, taken
}

// wantRemoved sends events again, as a client and as a followed relay do.
func wantRemoved(t *testing.T, s *sqlite.Store, evs ...*nostr.Event) {
	t.Helper()
	for _, ev := range evs {
		for _, o := range []store.PutOptions{{}, {Base: new([32]byte)}, {Replica: true}, {Replica: true, Past: true}} {
			r := s.Put(t.Context(), ev, o)
			if r.Outcome != store.Deleted || r.Message() != "blocked: removed by the operator" {
				t.Errorf("kind %d of %d, %+v: %v %q", ev.Kind, ev.CreatedAt, o, r.Outcome, r.Message())
			}
		}
		if isHead(t, s, ev) || isHistory(t, s, ev) {
			t.Errorf("kind %d of %d is stored", ev.Kind, ev.CreatedAt)
		}
	}
}

// TestWhatARollbackTookStaysAway, whoever sends it, until somebody signs what is
// newer; and still after quarantine has let go of it, for whatever reason.
func TestWhatARollbackTookStaysAway(t *testing.T) {
	clock := storetest.NewClock()
	for name, lose := range map[string]func(t *testing.T, s *sqlite.Store){
		"in quarantine": func(*testing.T, *sqlite.Store) {},
		"dropped": func(t *testing.T, s *sqlite.Store) {
			if err := s.DropQuarantine(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		},
		"after history.days": func(t *testing.T, s *sqlite.Store) {
			clock.Add(11 * 24 * time.Hour)
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"deleted from it": func(t *testing.T, s *sqlite.Store) {
			if n := remove(t, s, `{"kinds":[30174,10002],"since":1}`).Quarantined; n[30174] != 3 || n[10002] != 1 {
				t.Fatalf("removed %v", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, v, taken := rolledBack(t, func(o *sqlite.Options) { o.Clock, o.Days = clock.Now, 10 })
			lose(t, s)
			if kept := rows(t, s, "quarantine"); (kept == 4) != (name == "in quarantine") || kept != 0 && kept != 4 {
				t.Fatalf("%d rows in quarantine", kept)
			}
			wantRemoved(t, s, taken...)
			if name != "deleted from it" {
				put(t, s, v[0], store.Duplicate)
			}
			if r := s.Put(t.Context(), v[3], store.PutOptions{}); r.Outcome != store.Stored && r.Outcome != store.Replaced {
				t.Errorf("a newer version: %+v", r)
			}
			wantRemoved(t, s, taken...)
			wantWhole(t, s)
		})
	}
}

// TestRolledBackAfterARestart: what was taken away is known to who opens the
// database, and a later rollback adds to it.
func TestRolledBackAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engramd.db")
	at := func(o *sqlite.Options) { o.Path = path }
	s, v, taken := rolledBack(t, at)
	if err := s.DropQuarantine(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.MustOpen(t, at)
	wantRemoved(t, s, taken...)
	put(t, s, v[3], store.Replaced)
	switchIn(t, s, rollback(alice, 1), []staged{{store.Heads, v[0]}})
	wantRemoved(t, s, append(taken, v[3])...)
}

// TestTheOperatorBringsBack what a rollback took, by whatever means; then it is
// as if it had never gone.
func TestTheOperatorBringsBack(t *testing.T) {
	for name, bring := range map[string]func(t *testing.T, s *sqlite.Store, taken []*nostr.Event){
		"release": func(t *testing.T, s *sqlite.Store, _ []*nostr.Event) {
			if _, err := s.ReleaseQuarantine(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		},
		"import": func(t *testing.T, s *sqlite.Store, taken []*nostr.Event) {
			for _, ev := range taken {
				if r := s.Put(t.Context(), ev, store.PutOptions{Import: true}); !r.Outcome.OK() {
					t.Errorf("%+v", r)
				}
			}
		},
		"repair": func(t *testing.T, s *sqlite.Store, taken []*nostr.Event) {
			switchIn(t, s, repair(alice), []staged{{store.Versions, taken[0]}, {store.Heads, taken[1]}, {store.Heads, taken[2]}, {store.Relays, taken[3]}})
		},
		"rollback": func(t *testing.T, s *sqlite.Store, taken []*nostr.Event) {
			o := rollback(alice, 3)
			o.Name = "forth"
			switchIn(t, s, o, []staged{{store.Versions, taken[0]}, {store.Heads, taken[1]}, {store.Heads, taken[2]}, {store.Relays, taken[3]}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, v, taken := rolledBack(t)
			bring(t, s, taken)
			if !isHistory(t, s, taken[0]) || !isHead(t, s, taken[1]) || !isHead(t, s, taken[2]) || !isHead(t, s, taken[3]) {
				t.Fatal("not all is back")
			}
			if n := rows(t, s, "rolled_back"); n != 0 {
				t.Errorf("%d ids are still recorded", n)
			}
			put(t, s, taken[1], store.Duplicate)
			put(t, s, v[3], store.Replaced)
			wantWhole(t, s)
		})
	}
}

// TestReleaseForgetsWhatItCannotBringBack: what is banned meanwhile stays out,
// and may be published once the ban is lifted.
func TestReleaseForgetsWhatItCannotBringBack(t *testing.T) {
	s, _, taken := rolledBack(t)
	ban := func(verdict store.AdminVerdict, auth string) {
		t.Helper()
		err := s.Administer(t.Context(), &store.AdminEntry{List: store.AdminEvents, Key: taken[2].ID, Verdict: verdict},
			store.AdminCall{Key: bob.Pub, Auth: auth, Method: "banevent", Outcome: "ok"})
		if err != nil {
			t.Fatal(err)
		}
	}
	ban(store.AdminBanned, taken[0].ID)
	if r := put(t, s, taken[2], store.Deleted); r.Message() != store.WhyBanned.Error() {
		t.Errorf("banned as well: %q", r.Message())
	}
	if _, err := s.ReleaseQuarantine(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	put(t, s, taken[2], store.Deleted)
	ban(store.AdminNone, taken[1].ID)
	put(t, s, taken[2], store.Stored)
}

// TestItsAuthorsDeletionIsSaidFirst: who deletes what was rolled back is told
// so, and nothing brings it back.
func TestItsAuthorsDeletionIsSaidFirst(t *testing.T) {
	s, _, taken := rolledBack(t)
	put(t, s, alice.Delete(60, taken[1].ID), store.Stored)
	put(t, s, alice.Delete(60, storetest.Address(taken[2])), store.Stored)
	for _, ev := range taken[1:3] {
		if r := put(t, s, ev, store.Deleted); r.Message() != "blocked: deleted by its author" {
			t.Errorf("%q", r.Message())
		}
		restore(t, s, ev, store.Deleted)
	}
	wantRemoved(t, s, taken[0], taken[3])
	put(t, s, alice.Vanish(61), store.Stored)
	for _, ev := range taken {
		if r := put(t, s, ev, store.Deleted); r.Message() != "blocked: deleted by its author" {
			t.Errorf("%q", r.Message())
		}
	}
}

// TestEarlierRollbacksAreRecorded: the migration records what lies in quarantine,
// but for what came back since.
func TestEarlierRollbacksAreRecorded(t *testing.T) {
	latest, err := engine.Latest()
	if err != nil || latest < 23 {
		t.Fatalf("version %d, %v", latest, err)
	}
	path, now := ofVersion(t, 22), fmt.Sprint(storetest.Start.Unix())
	gone, back := alice.Engram(bob, 3, "mem/gone"), alice.Engram(bob, 3, "mem/back")
	for _, ev := range []*nostr.Event{gone, back} {
		outside(t, path, `INSERT INTO quarantine(restore, moved_at, head, id, pubkey, kind, d, created_at, json)
			VALUES ('before', `+now+`, 1, x'`+ev.ID+`', x'`+ev.PubKey+`', 30174, '', 1, x'7b7d')`)
	}
	outside(t, path, `INSERT INTO history(seq, kind, created_at, class, d, arrived_at, superseded_at, json)
		VALUES (1000001, 30174, 1, 1, '', 1, `+now+`, CAST('`+string(wire.AppendEvent(nil, back))+`' AS BLOB))`)
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path = path })
	if r := put(t, s, gone, store.Deleted); r.Message() != store.WhyRolledBack.Error() {
		t.Errorf("%q", r.Message())
	}
	put(t, s, back, store.Duplicate)
	if n := rows(t, s, "rolled_back"); n != 1 {
		t.Errorf("%d ids are recorded", n)
	}
	if list, err := s.Quarantines(t.Context(), gate.Operator()); err != nil || len(list) != 1 {
		t.Errorf("quarantine %+v, %v", list, err)
	}
}
