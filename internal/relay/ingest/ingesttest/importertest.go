// Package ingesttest has what tests of imports share.
package ingesttest

import (
	"encoding/json"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/ingest"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// World is an importer over a new store in a folder of its own.
type World struct {
	*ingest.Importer
	Store *sqlite.Store
	Rules policy.Hook
	Dir   string
}

// Open makes a World, which ends with the test.
func Open(t testing.TB, live store.Live) World {
	t.Helper()
	dir := t.TempDir()
	table, err := gate.NewTable(gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Options: engine.Options{Path: engine.File(dir)}, Table: table, Live: live})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	rules, err := ingest.NewRules(relay.Names{"ws://127.0.0.1:7447"}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return World{ingest.New(s, rules), s, rules, dir}
}

// Line is a signed note as a line.
func Line(t testing.TB, at int64, content string) []byte {
	t.Helper()
	text, err := json.Marshal(relaytest.Note(relaytest.Agent(), at, content))
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// Reports collects what an import tells. Seen, if there is one, gets a value for
// each skipped line.
type Reports struct {
	Skipped []ingest.Skipped
	Agents  []ingest.ReplacedAgent
	Seen    chan ingest.Skipped
}

var _ ingest.Replacing = (*Reports)(nil)

// Skip notes a skipped line.
func (r *Reports) Skip(s ingest.Skipped) error {
	r.Skipped = append(r.Skipped, s)
	if r.Seen != nil {
		r.Seen <- s
	}
	return nil
}

// Agent notes what became of an agent.
func (r *Reports) Agent(a ingest.ReplacedAgent) error {
	r.Agents = append(r.Agents, a)
	return nil
}

// Tick notes nothing.
func (r *Reports) Tick(ingest.Tally) error { return nil }

// Failing is an input that fails with Err.
type Failing struct{ Err error }

// Read fails.
func (f Failing) Read([]byte) (int, error) { return 0, f.Err }
