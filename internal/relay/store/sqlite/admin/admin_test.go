package admin_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/admin"
	"engramd/internal/relay/store/sqlite/storetest"
)

var adminCall = store.AdminCall{Key: alice.Pub, Auth: strings.Repeat("a", 64), Address: "192.0.2.1", Method: "banevent", Outcome: "ok"}

func administer(t *testing.T, s *sqlite.Store, list store.AdminList, key string, verdict store.AdminVerdict) {
	t.Helper()
	if err := s.Administer(t.Context(), &store.AdminEntry{List: list, Key: key, Verdict: verdict, Text: "why"}, adminCall); err != nil {
		t.Fatal(err)
	}
}

func TestAdminListsSurviveARestart(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	administer(t, s, store.AdminPubkeys, alice.Pub, store.AdminBanned)
	administer(t, s, store.AdminPubkeys, bob.Pub, store.AdminBanned)
	administer(t, s, store.AdminPubkeys, bob.Pub, store.AdminAllowed)
	administer(t, s, store.AdminPubkeys, carol.Pub, store.AdminBanned)
	administer(t, s, store.AdminPubkeys, carol.Pub, store.AdminNone)
	administer(t, s, store.AdminPubkeys, carol.Pub, store.AdminNone) // once more is no error
	administer(t, s, store.AdminNetworks, "192.0.2.0/24", store.AdminBanned)
	administer(t, s, store.AdminInfo, "name", store.AdminSet)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.MustOpen(t, func(c *sqlite.Options) { c.Path = o.Path })
	got, err := s.AdminLists(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []store.AdminEntry{
		{List: store.AdminInfo, Key: "name", Verdict: store.AdminSet, Text: "why"},
		{List: store.AdminNetworks, Key: "192.0.2.0/24", Verdict: store.AdminBanned, Text: "why"},
		{List: store.AdminPubkeys, Key: alice.Pub, Verdict: store.AdminBanned, Text: "why"},
		{List: store.AdminPubkeys, Key: bob.Pub, Verdict: store.AdminAllowed, Text: "why"},
	}
	byKey := func(a, b store.AdminEntry) int {
		return strings.Compare(string(a.List)+string(a.Verdict), string(b.List)+string(b.Verdict))
	}
	slices.SortFunc(got, byKey)
	slices.SortFunc(want, byKey)
	if !slices.Equal(got, want) {
		t.Errorf("lists\n%v, want\n%v", got, want)
	}
}

// TestBannedEventsAreGone: wherever an event lies it goes, and it comes back by
// no way.
func TestBannedEventsAreGone(t *testing.T) {
	s := storetest.MustOpen(t)
	note, old, head := alice.Note(0, "cedar"), alice.Engram(bob, 0, "x"), alice.Engram(bob, 10, "x")
	never, other := alice.Note(1, "not here yet"), alice.Note(2, "cedar too")
	put(t, s, note, store.Stored)
	put(t, s, other, store.Stored)
	put(t, s, old, store.Stored)
	put(t, s, head, store.Replaced)
	for _, ev := range []*nostr.Event{note, old, never} {
		administer(t, s, store.AdminEvents, ev.ID, store.AdminBanned)
	}
	if isHead(t, s, note) || isHistory(t, s, old) || !isHead(t, s, head) || !isHead(t, s, other) {
		t.Error("not just the banned events are gone")
	}
	for _, ev := range []*nostr.Event{note, old, never} {
		if r := put(t, s, ev, store.Deleted); r.Message() != store.WhyBanned.Error() {
			t.Errorf("a banned event: %q", r.Message())
		}
		restore(t, s, ev, store.Deleted)
	}
	// What is left of an address whose head was banned stays history.
	put(t, s, alice.Engram(bob, 20, "y"), store.Stored)
	newer := alice.Engram(bob, 30, "y")
	put(t, s, newer, store.Replaced)
	administer(t, s, store.AdminEvents, newer.ID, store.AdminBanned)
	if n := rows(t, s, "events WHERE kind = 30174"); n != 1 {
		t.Errorf("%d heads, want the one of the other address", n)
	}
	administer(t, s, store.AdminEvents, note.ID, store.AdminAllowed)
	put(t, s, note, store.Stored)
	administer(t, s, store.AdminEvents, never.ID, store.AdminNone)
	put(t, s, never, store.Stored)
	wantWhole(t, s)
}

func TestBansHoldAfterARestart(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	note := alice.Note(0, "x")
	administer(t, s, store.AdminEvents, note.ID, store.AdminBanned)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.MustOpen(t, func(c *sqlite.Options) { c.Path = o.Path })
	put(t, s, note, store.Deleted)
}

// TestAuditIsAppendOnly: no statement that SQLite offers takes a row away or
// changes it.
func TestAuditIsAppendOnly(t *testing.T) {
	s := storetest.MustOpen(t)
	params := `["x"]`
	for i, outcome := range []string{"ok", "refused", "ok"} {
		c := adminCall
		c.Auth, c.Outcome, c.Digest = strings.Repeat("0123"[i:i+1], 64), outcome, [32]byte{byte(i)}
		if i == 1 {
			c.Params = &params
		}
		if err := s.Administer(t.Context(), nil, c); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{
		"DELETE FROM admin_audit", "DELETE FROM admin_audit WHERE n = 2", "UPDATE admin_audit SET outcome = 'ok'",
		"UPDATE admin_audit SET n = 9 WHERE n = 1", "UPDATE OR REPLACE admin_audit SET n = 1 WHERE n = 2",
		"REPLACE INTO admin_audit SELECT n, 0, key, auth, address, method, params, digest, outcome, detail FROM admin_audit WHERE n = 2",
		"INSERT INTO admin_audit SELECT n, 0, key, auth, address, method, params, digest, outcome, detail FROM admin_audit WHERE n = 2 " +
			"ON CONFLICT (n) DO UPDATE SET at = 0",
	} {
		if _, err := storetest.OnWriter(admin.DB(s), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	audit := func(since int64, limit int) (out []store.AdminCall) {
		t.Helper()
		err := s.AdminAudit(t.Context(), since, limit, func(c store.AdminCall) error {
			out = append(out, c)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := audit(0, 0)
	if len(all) != 3 || all[0].N >= all[1].N || all[1].Outcome != "refused" || *all[1].Params != params || all[0].Params != nil ||
		all[2].Digest != [32]byte{2} || all[0].Key != alice.Pub || all[0].At != storetest.Start.Unix() || all[0].Address != "192.0.2.1" {
		t.Errorf("audit %+v", all)
	}
	if last := audit(0, 2); len(last) != 2 || last[1].N != all[2].N || last[0].N != all[1].N {
		t.Errorf("the last two: %+v", last)
	}
	if later := audit(storetest.Start.Unix()+1, 0); len(later) != 0 {
		t.Errorf("later: %+v", later)
	}
	used := map[string]int64{}
	if err := s.AdminUsed(t.Context(), 0, func(id, _ string, at int64) { used[id] = at }); err != nil || len(used) != 3 {
		t.Errorf("used %v, %v", used, err)
	}
}

// TestAdministerIsOneTransaction: a call that cannot be recorded changes
// nothing.
func TestAdministerIsOneTransaction(t *testing.T) {
	s := storetest.MustOpen(t)
	note := alice.Note(0, "x")
	put(t, s, note, store.Stored)
	bad := adminCall
	bad.Auth = "not an id"
	err := s.Administer(context.Background(), &store.AdminEntry{List: store.AdminEvents, Key: note.ID, Verdict: store.AdminBanned}, bad)
	if err == nil || !isHead(t, s, note) || rows(t, s, "admin_lists") != 0 || rows(t, s, "admin_audit") != 0 {
		t.Errorf("%v: half a call was made", err)
	}
	wantWhole(t, s)
}

func TestAdminListsAreBounded(t *testing.T) {
	s := storetest.MustOpen(t)
	_, err := storetest.OnWriter(admin.DB(s), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 100000)
		INSERT INTO admin_lists SELECT 'network', 'n' || i, 'banned', '', 0 FROM n RETURNING 1`)
	if err != nil {
		t.Fatal(err)
	}
	change := func(key string) error {
		return s.Administer(t.Context(), &store.AdminEntry{List: store.AdminNetworks, Key: key, Verdict: store.AdminBanned}, adminCall)
	}
	if err := change("n1"); err != nil {
		t.Errorf("an entry that is there: %v", err)
	}
	if err := change("one more"); !errors.Is(err, store.ErrAdminFull) {
		t.Errorf("one more: %v", err)
	}
}
