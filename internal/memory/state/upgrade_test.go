package state

import (
	"strings"
	"testing"

	"engramd/internal/memory/state/sealedfile"
)

// TestStateOfBefore: a state that knew no heads stays the same writer's. What a relay took
// is known by its address where that was kept, and elsewhere once it is found; what was
// not settled is open as before.
func TestStateOfBefore(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	id := writer(t, s)
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	take(t, s, hexOf(1), hexOf(0xd), 10, false)
	take(t, s, hexOf(2), "", 11, false)
	take(t, s, hexOf(3), hexOf(0xd), 12, false)
	relayTook(t, s, hexOf(1), hexOf(2))
	must(t, s.Close())
	path, key, err := testPair.file(r.dir)
	must(t, err)
	old, err := sealedfile.Open(t.Context(), path, key, sealedfile.Options{Application: application, Schema: schema, Durable: true})
	must(t, err)
	must(t, old.Write(t.Context(), func(tx *sealedfile.Tx) error {
		for _, sql := range []string{"DROP INDEX links_newest", "DROP INDEX links_nowhere", "ALTER TABLE links DROP COLUMN tomb", "ALTER TABLE links DROP COLUMN expires", "ALTER TABLE links DROP COLUMN tag", "ALTER TABLE links DROP COLUMN told",
			"DROP TABLE kept", "DROP TABLE acts", "DROP TABLE losses", "DROP TABLE accounted", "DROP TABLE outbox", "DROP TABLE own_folders", "DROP TABLE turns", "DROP TABLE accepted", "ALTER TABLE sessions DROP COLUMN mute", "DROP TABLE places", "DROP TABLE migrations", "PRAGMA user_version = 8"} {
			tx.Exec(sql)
		}
		return tx.Err()
	}))
	must(t, old.Close())

	s = r.open(testPair)
	if writer(t, s) != id || len(r.warned) > 0 {
		t.Errorf("another writer, said %q", r.warned)
	}
	at, err := s.Heads.At(t.Context(), hexOf(0xd))
	must(t, err)
	if at.Head.ID != hexOf(1) || at.Head.Event != nil || len(at.Open) != 1 || at.Open[0] != hexOf(3) {
		t.Errorf("%+v", at)
	}
	ids, err := s.Heads.Nowhere(t.Context())
	must(t, err)
	if len(ids) != 1 || ids[0] != hexOf(2) {
		t.Errorf("%v are nowhere", ids)
	}
	must(t, s.Heads.Place(t.Context(), []Head{{ID: hexOf(2), D: hexOf(0xe), Tombstone: true}}))
	if at, err = s.Heads.At(t.Context(), hexOf(0xe)); err != nil || at.Head.ID != hexOf(2) || !at.Head.Tombstone {
		t.Errorf("%+v %v", at, err)
	}
	take(t, s, hexOf(4), hexOf(0xd), 13, false)
	relayTook(t, s, hexOf(3), hexOf(4))
	if at, err = s.Heads.At(t.Context(), hexOf(0xd)); err != nil || at.Head.ID != hexOf(4) || at.Head.Event == nil {
		t.Errorf("%+v %v", at, err)
	}
}
