package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/gate"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/operator"
	"engramd/internal/store"
	"engramd/internal/store/sqlite"
	"engramd/internal/wire"
)

func engramLines(agent relaytest.Key, at int64, slugs ...string) (out []byte) {
	for _, slug := range slugs {
		out = append(wire.AppendEvent(out, relaytest.Memory(agent, relaytest.Owner().Pub, slug, "x", at)), '\n')
	}
	return out
}

// startReplacing gives an importer, and a control socket that may replace.
func startReplacing(t *testing.T) (*importer, string) {
	t.Helper()
	im, dir := openImporter(t, store.Live{})
	service := operator.New(operator.Options{Bundles: snapshot.New(dir), Store: im.store, Judge: im.judge,
		Settings: operator.Settings{RestoreAllow: true}, Software: "engramd test"})
	c, err := startControl(t.Context(), dir, im, service, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return im, dir
}

// headTimes are the created_at of an agent's heads, and how many superseded versions it has.
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

// TestHalfAnInputReplacesNothing cuts the input on its way to the daemon, between two
// lines.
func TestHalfAnInputReplacesNothing(t *testing.T) {
	im, dir := startReplacing(t)
	agent := relaytest.Agent()
	if _, err := im.run(t.Context(), bytes.NewReader(engramLines(agent, 10, "mem/a", "mem/b")), &reports{}); err != nil {
		t.Fatal(err)
	}
	half := io.MultiReader(bytes.NewReader(engramLines(agent, 5, "mem/a")), &failing{errors.New("device gone")})
	if _, err := importThroughDaemon(t.Context(), dir, true, half, &reports{}); err == nil {
		t.Error("half an input was taken for a whole one")
	}
	if heads, _ := headTimes(t, im.store, agent); len(heads) != 2 || heads[0] != 10 || heads[1] != 10 {
		t.Errorf("heads of %v", heads)
	}
}

// TestReplaceByAgent gives two agents' engrams, with two versions of one in the wrong
// order, and a line of one that does not verify.
func TestReplaceByAgent(t *testing.T) {
	im, dir := startReplacing(t)
	agent, other, third := relaytest.Agent(), relaytest.Stranger(), relaytest.NewKey(7)
	var was []byte
	for _, k := range []relaytest.Key{agent, other, third} {
		was = append(was, engramLines(k, 10, "mem/a", "mem/b")...)
	}
	if _, err := im.run(t.Context(), bytes.NewReader(was), &reports{}); err != nil {
		t.Fatal(err)
	}
	in := engramLines(agent, 5, "mem/a")
	in = append(in, engramLines(agent, 4, "mem/a")...)
	in = append(in, engramLines(other, 5, "mem/a")...)
	in = append(in, bytes.Replace(engramLines(other, 6, "mem/b"), []byte(`"created_at":6`), []byte(`"created_at":7`), 1)...)
	p := &reports{}
	got, err := importThroughDaemon(t.Context(), dir, true, bytes.NewReader(in), p)
	if err != nil || got.Lines != 4 || got.Stored+got.Replaced != 2 || got.Skipped != 1 || got.Held != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if len(p.agents) != 2 || p.agents[0].Quarantined != 2 || p.agents[0].Quarantine == "" || p.agents[0].PreSnapshot == "" ||
		!strings.Contains(p.agents[1].HeldBack, "line 4") || p.agents[1].PreSnapshot != "" {
		t.Errorf("%+v", p.agents)
	}
	if heads, versions := headTimes(t, im.store, agent); len(heads) != 1 || heads[0] != 5 || versions != 1 {
		t.Errorf("replaced: heads of %v, %d versions", heads, versions)
	}
	for _, k := range []relaytest.Key{other, third} {
		if heads, _ := headTimes(t, im.store, k); len(heads) != 2 || heads[0] != 10 {
			t.Errorf("left alone: heads of %v", heads)
		}
	}
}
