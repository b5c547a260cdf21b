package contracts_test

import (
	"errors"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// A thread shows no entry whose event is not as it was written, and does not leave
// it out either; the same event heals it.
func TestThreadOfADamagedEntry(t *testing.T) {
	path := ""
	s := storetest.MustOpen(t, func(o *sqlite.Options) { path = o.Path })
	_, said := dispute(t, s)
	thread := store.Thread{Contract: "c", Poster: alice.Pub, Worker: bob.Pub}
	page := func() (n int, err error) {
		t.Helper()
		out, _, err := s.ThreadPage(t.Context(), thread, 100, 0, 1<<20)
		return len(out), err
	}
	if n, err := page(); n != len(said) || err != nil {
		t.Fatal(n, err)
	}
	for _, table := range []string{"events", "history"} {
		outside(t, path, "UPDATE "+table+" SET json = CAST(replace(json, 'refund', 'repaid') AS BLOB) WHERE kind = 30090")
	}
	if _, err := page(); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("%v", err)
	}
	put(t, s, said[1], store.Duplicate)
	if n, err := page(); n != len(said) || err != nil {
		t.Errorf("healed: %d, %v", n, err)
	}
	wantWhole(t, s)
}
