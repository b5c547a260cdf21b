package snapshots

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"engramd/internal/relay/notify"
	"engramd/internal/relay/notify/natstest"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// TestTold: what happens to snapshots is told a real broker, in order, and
// names no address, owner or event.
func TestTold(t *testing.T) {
	server := natstest.Start(t)
	told := server.Subscribe("some.prefix.>")
	publisher, err := notify.New(notify.Options{URL: server.URL, Prefix: "some.prefix"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *Options) { o.Settings.RestoreAllow, o.Events = true, publisher })
	ev := w.put("mem/a", 0)
	first := w.create(func(q *CreateRequest) { q.Label = "mine" })
	w.clock.Add(time.Minute)
	newer := w.put("mem/a", 1)
	w.clock.Add(time.Minute)
	out, err := w.Restore(t.Context(), RestoreRequest{Which: which(first.ID), Mode: snapshot.Rollback})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), bundle.DefaultTenant, agent.Pub, first.ID, snapshot.Deletion{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sweep(t.Context(), snapshot.DefaultPolicy()); err != nil {
		t.Fatal(err)
	}
	failing := RestoreRequest{Which: which(first.ID), Mode: snapshot.Repair} // it is gone
	if _, err := w.Restore(t.Context(), failing); err == nil {
		t.Error("what was deleted can be restored")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	publisher.Close(ctx) // sends what waits

	for _, want := range []struct {
		subject string
		members map[string]any
	}{
		{agent.Pub + ".created", map[string]any{"kind": "created", "id": first.ID, "label": "mine", "created_by": "cli", "events": 1., "verified": true, "sha256": first.SHA256}},
		{agent.Pub + ".created", map[string]any{"kind": "created", "id": out.PreSnapshot, "created_by": "auto-pre-restore"}},
		{agent.Pub + ".restored", map[string]any{"kind": "restored", "id": first.ID, "mode": "rollback", "pre_snapshot": out.PreSnapshot, "written": 1., "quarantined": 1.}},
		{agent.Pub + ".deleted", map[string]any{"kind": "deleted", "id": first.ID, "tenant": "default"}},
		{"_all.gc", map[string]any{"kind": "gc", "agents_visited": 1., "bundles_deleted": 0., "errors": 0.}},
	} {
		select {
		case m := <-told:
			got := map[string]any{}
			if err := json.Unmarshal(m.Data, &got); err != nil || m.Subject != "some.prefix."+want.subject {
				t.Fatalf("%s: %s, %v; want %s", m.Subject, m.Data, err, want.subject)
			}
			for name, value := range want.members {
				if got[name] != value {
					t.Errorf("%s: %s is %v, want %v", m.Subject, name, got[name], value)
				}
			}
			for _, hidden := range []string{owner.Pub, ev.ID, newer.ID, ev.Tags.GetD(), "mem/a"} {
				if strings.Contains(string(m.Data), hidden) {
					t.Errorf("%s tells %s: %s", m.Subject, hidden, m.Data)
				}
			}
		case <-ctx.Done():
			t.Fatalf("no message at %s", want.subject)
		}
	}
	select {
	case m := <-told:
		t.Errorf("one too many at %s: %s", m.Subject, m.Data)
	default:
	}
}
