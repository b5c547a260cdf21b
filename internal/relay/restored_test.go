package relay

import (
	"errors"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestNoAnswerIsOfTwoStates rolls the memory back between two pages of an
// answer, and before the first one.
func TestNoAnswerIsOfTwoStates(t *testing.T) {
	r, s := open(t)
	agent, owner := storetest.NewKey("agent"), storetest.NewKey("owner")
	for i, slug := range []string{"mem/a", "mem/b", "mem/c"} {
		s.Put(t.Context(), agent.Engram(owner, int64(i), slug), store.PutOptions{})
		s.Put(t.Context(), agent.Engram(owner, int64(i+10), slug), store.PutOptions{})
	}
	rollback := func() {
		t.Helper()
		x, err := s.BeginRestore(store.RestoreOptions{Mode: store.Rollback, Agent: agent.Pub, Name: "test", AsOf: storetest.Start.Unix()})
		if err == nil {
			_, err = x.Switch(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f := nostr.Filter{Kinds: []int{30174}, Authors: []string{agent.Pub}}
	g := granted(t, r, gate.NewReader(agent.Pub), f)
	versions, err := r.History(WithReader(t.Context(), gate.NewReader(agent.Pub)), HistoryQuery{Kind: 30174, Author: agent.Pub})
	if err != nil {
		t.Fatal(err)
	}
	begun, before := r.Stored(g, r.Now()), r.Now()
	for name, next := range map[string]func() ([]store.Row, bool, error){
		"stored":  func() ([]store.Row, bool, error) { return begun.Next(t.Context(), 1, 1<<20) },
		"history": func() ([]store.Row, bool, error) { return versions.Next(t.Context(), 1, 1<<20) },
	} {
		if rows, done, err := next(); len(rows) != 1 || done || err != nil {
			t.Fatalf("%s: %d rows, done %v, %v", name, len(rows), done, err)
		}
	}
	rollback()
	for name, next := range map[string]func() ([]store.Row, bool, error){
		"stored":           func() ([]store.Row, bool, error) { return begun.Next(t.Context(), 1, 1<<20) },
		"history":          func() ([]store.Row, bool, error) { return versions.Next(t.Context(), 1, 1<<20) },
		"nothing read yet": func() ([]store.Row, bool, error) { return r.Stored(g, before).Next(t.Context(), 1, 1<<20) },
	} {
		if rows, _, err := next(); !errors.Is(err, ErrRestored) || len(rows) != 0 {
			t.Errorf("%s: %d rows, error %v", name, len(rows), err)
		} else if text := RefusalOf(err).Error(); text != "error: the memory was restored meanwhile; ask again" {
			t.Errorf("a client is told %q", text)
		}
	}
	if rows, done, err := r.Stored(g, r.Now()).Next(t.Context(), 10, 1<<20); len(rows) != 0 || !done || err != nil {
		t.Errorf("asked again: %d rows, done %v, %v", len(rows), done, err)
	}
}
