package contracts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

func contractOpen(k storetest.Key, id, to string, at int64) *nostr.Event {
	return contractEvent(k, 30091, id, to, at, fmt.Sprintf(`{"contract_id":%q,"status":"open"}`, id))
}

func contractEntry(k storetest.Key, id, to string, at int64, text string) *nostr.Event {
	return contractEvent(k, 30090, id, to, at, fmt.Sprintf(`{"type":"note","content":%q}`, text), nostr.Tag{"t", "note"})
}

// TestThreadIndexFollowsEvents takes entries away by every way there is: the
// thread loses what the relay loses.
func TestThreadIndexFollowsEvents(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	at := storetest.Start.Unix() - 100
	thread := store.Thread{Contract: "c", Poster: alice.Pub, Worker: bob.Pub}
	want := func(what string, n int) {
		t.Helper()
		_, total, err := s.ThreadPage(t.Context(), thread, 100, 0, 1<<20)
		if err != nil || total != n {
			t.Errorf("%s: %d entries, want %d (%v)", what, total, n, err)
		}
		stored := rows(t, s, "(SELECT seq FROM events WHERE kind = 30090 UNION ALL SELECT seq FROM history WHERE kind = 30090)")
		if indexed := rows(t, s, "contract_entries"); indexed != stored {
			t.Errorf("%s: %d in the index, %d stored", what, indexed, stored)
		}
	}
	put(t, s, contractOpen(alice, "c", bob.Pub, at), store.Stored)
	for i := range int64(4) {
		put(t, s, contractEntry(alice, "c", bob.Pub, at+i, "x"), map[bool]store.Outcome{true: store.Stored, false: store.Replaced}[i == 0])
	}
	late := contractEntry(alice, "c", bob.Pub, at-5, "late")
	put(t, s, late, store.Stored)
	put(t, s, contractEntry(carol, "c", bob.Pub, at, "a stranger's"), store.Stored)
	want("written", 5)
	put(t, s, contractEvent(alice, 5, "x", bob.Pub, at+10, "", nostr.Tag{"e", late.ID}), store.Stored)
	want("one withdrawn", 4)
	if page, total, err := s.ThreadPage(t.Context(), whole(thread), 100, 0, 1<<20); err != nil || total != 5 || page[4].Withdrawn == 0 {
		t.Errorf("who may read all of it sees %d entries, want 5 (%v)", total, err)
	}
	lasting := contractEvent(alice, 30090, "c", bob.Pub, at+20, `{"type":"note","content":"x"}`, nostr.Tag{"t", "note"},
		nostr.Tag{"expiration", fmt.Sprint(storetest.Start.Unix() + 10)})
	put(t, s, lasting, store.Replaced)
	clock.Add(20 * 1e9)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("what says that it expires", 5)
	put(t, s, contractEvent(alice, 62, "x", bob.Pub, storetest.Start.Unix(), "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("vanished", 0)
	wantWhole(t, s)
}

// whole is a thread for who may read all of it.
func whole(t store.Thread) store.Thread {
	t.Party, t.Whole = true, true
	return t
}

// TestPrivateEntries keeps, counts and bounds them, each for its author.
func TestPrivateEntries(t *testing.T) {
	s := storetest.MustOpen(t)
	at := storetest.Start.Unix()
	put(t, s, contractOpen(alice, "c", bob.Pub, at), store.Stored)
	entry := func(n byte) store.ThreadEntry {
		return store.ThreadEntry{Author: alice.Pub, Other: bob.Pub, CreatedAt: at, ID: []byte{n}, Type: "note", Entry: fmt.Sprintf("mem_%012x", n), Data: []byte{1}}
	}
	for n := range byte(3) {
		if err := s.Tell(t.Context(), store.AddPrivateEntry{Contract: "c", Entry: entry(n), Most: 3}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Tell(t.Context(), store.AddPrivateEntry{Contract: "c", Entry: entry(1), Most: 9}); err == nil {
		t.Error("an entry id is given twice")
	}
	if err := s.Tell(t.Context(), store.AddPrivateEntry{Contract: "c", Entry: entry(9), Most: 3}); err == nil {
		t.Error("there is no bound")
	}
	if err := s.Tell(t.Context(), store.AddPrivateEntry{Contract: "unknown", Entry: entry(9), Most: 9}); err == nil {
		t.Error("a contract that is not there takes entries")
	}
	for reader, want := range map[string]int{alice.Pub: 3, bob.Pub: 0, carol.Pub: 0, "": 0} {
		groups, err := s.ThreadGroups(t.Context(), store.Thread{Contract: "c", Poster: alice.Pub, Worker: bob.Pub, Party: true, Reader: reader})
		n := 0
		for _, g := range groups {
			n += g.Count
		}
		if err != nil || n != want {
			t.Errorf("%.4s counts %d, want %d (%v)", reader, n, want, err)
		}
	}
	put(t, s, contractEvent(alice, 62, "x", bob.Pub, at+1, "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, s, "contract_entries"); n != 0 {
		t.Errorf("%d outlive their author's request to vanish", n)
	}
}

// TestOldThreadsAreIndexed opens a database of the first version: every entry
// in it has its place in a thread.
func TestOldThreadsAreIndexed(t *testing.T) {
	old, err := os.ReadFile("../../../../../testdata/stores/v1/engramd.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "engramd.db")
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path = path })
	stored := `(SELECT seq, id FROM events WHERE kind = 30090 UNION ALL SELECT seq, id FROM history WHERE kind = 30090)`
	n := rows(t, s, stored)
	if n == 0 {
		t.Fatal("the old database has no entries")
	}
	if got := rows(t, s, stored+` AS o JOIN contract_entries AS e ON e.seq = o.seq AND e.id = o.id
		WHERE length(e.author) = 32 AND length(e.other) = 32 AND e.type <> '' AND e.entry GLOB 'mem_*' AND length(e.entry) = 16`); got != n {
		t.Errorf("%d of %d entries have a place", got, n)
	}
	if states, numbered := rows(t, s, "contract_states"), rows(t, s, "contract_states WHERE n > 0 AND at > 0"); states == 0 || states != numbered {
		t.Errorf("%d of %d states are in order", numbered, states)
	}
}
