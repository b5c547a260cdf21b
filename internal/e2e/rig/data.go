package rig

import (
	"iter"
	"path/filepath"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

// DataOf makes a data folder of a relay with that gate, with those events in it.
func DataOf(t *testing.T, o gate.Options, events iter.Seq[*nostr.Event]) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if err := engine.PrepareDir(data); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Options: engine.Options{Path: engine.File(data)}, Table: storetest.MustTable(t, o)})
	if err != nil {
		t.Fatal(err)
	}
	var waiting []store.Pending
	for ev := range events {
		p, err := s.Begin(t.Context(), ev, store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, p)
	}
	for _, p := range waiting {
		if r := p.Wait(); r.Outcome != store.Stored {
			t.Fatalf("%+v", r)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return data
}
