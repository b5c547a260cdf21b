package control_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/control"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/ingest/ingesttest"
	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/snapshot"
)

func engramLines(agent relaytest.Key, at int64, slugs ...string) (out []byte) {
	for _, slug := range slugs {
		out = append(wire.AppendEvent(out, relaytest.Memory(agent, relaytest.Owner().Pub, slug, "x", at)), '\n')
	}
	return out
}

// startReplacing returns an importer with a control socket that may replace.
func startReplacing(t *testing.T) ingesttest.World {
	t.Helper()
	w := ingesttest.Open(t, store.Live{})
	listen(t, w, snapshots.New(snapshots.Options{Bundles: snapshot.New(w.Dir), Store: w.Store, Rules: w.Rules,
		Settings: snapshots.Settings{RestoreAllow: true}, Software: "engramd test"}))
	return w
}

// headTimes returns the created_at of an agent's heads and the number of its
// superseded versions.
func headTimes(t *testing.T, s *sqlite.Store, agent relaytest.Key) (heads []nostr.Timestamp, versions int) {
	t.Helper()
	err := s.Capture(t.Context(), gate.Operator(), store.CaptureQuery{Agent: agent.Pub}, func(v store.View) error {
		versions = int(v.Count(store.Versions))
		return v.Each(t.Context(), store.Heads, func(text []byte) error {
			var ev nostr.Event
			err := json.Unmarshal(text, &ev)
			heads = append(heads, ev.CreatedAt)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return heads, versions
}

// TestHalfAnInputReplacesNothing cuts the input to the daemon off between two
// lines.
func TestHalfAnInputReplacesNothing(t *testing.T) {
	w := startReplacing(t)
	agent := relaytest.Agent()
	if _, err := w.Run(t.Context(), bytes.NewReader(engramLines(agent, 10, "mem/a", "mem/b")), &ingesttest.Reports{}); err != nil {
		t.Fatal(err)
	}
	half := io.MultiReader(bytes.NewReader(engramLines(agent, 5, "mem/a")), ingesttest.Failing{Err: errors.New("device gone")})
	if _, err := control.Import(t.Context(), w.Dir, true, half, &ingesttest.Reports{}); err == nil {
		t.Error("half an input was taken for a whole one")
	}
	if heads, _ := headTimes(t, w.Store, agent); len(heads) != 2 || heads[0] != 10 || heads[1] != 10 {
		t.Errorf("heads of %v", heads)
	}
}

// TestReplaceByAgent imports two agents' engrams, two versions of one in the
// wrong order, and a line of one agent that does not verify.
func TestReplaceByAgent(t *testing.T) {
	w := startReplacing(t)
	agent, other, third := relaytest.Agent(), relaytest.Stranger(), relaytest.NewKey(7)
	var was []byte
	for _, k := range []relaytest.Key{agent, other, third} {
		was = append(was, engramLines(k, 10, "mem/a", "mem/b")...)
	}
	if _, err := w.Run(t.Context(), bytes.NewReader(was), &ingesttest.Reports{}); err != nil {
		t.Fatal(err)
	}
	in := engramLines(agent, 5, "mem/a")
	in = append(in, engramLines(agent, 4, "mem/a")...)
	in = append(in, engramLines(other, 5, "mem/a")...)
	in = append(in, bytes.Replace(engramLines(other, 6, "mem/b"), []byte(`"created_at":6`), []byte(`"created_at":7`), 1)...)
	p := &ingesttest.Reports{}
	got, err := control.Import(t.Context(), w.Dir, true, bytes.NewReader(in), p)
	if err != nil || got.Lines != 4 || got.Stored+got.Replaced != 2 || got.Skipped != 1 || got.Held != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if len(p.Agents) != 2 || p.Agents[0].Quarantined != 2 || p.Agents[0].Quarantine == "" || p.Agents[0].PreSnapshot == "" ||
		!strings.Contains(p.Agents[1].HeldBack, "line 4") || p.Agents[1].PreSnapshot != "" {
		t.Errorf("%+v", p.Agents)
	}
	if heads, versions := headTimes(t, w.Store, agent); len(heads) != 1 || heads[0] != 5 || versions != 1 {
		t.Errorf("replaced: heads of %v, %d versions", heads, versions)
	}
	for _, k := range []relaytest.Key{other, third} {
		if heads, _ := headTimes(t, w.Store, k); len(heads) != 2 || heads[0] != 10 {
			t.Errorf("left alone: heads of %v", heads)
		}
	}
}
