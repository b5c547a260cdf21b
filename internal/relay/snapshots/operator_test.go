package snapshots

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// TestRepairAndRollback: a repair never replaces a newer head, a rollback needs
// to be allowed and can be taken back, and both do so any number of times.
func TestRepairAndRollback(t *testing.T) {
	w := newWorld(t)
	w.put("mem/a", 0)
	w.put("mem/b", 1)
	then := w.create(func(q *CreateRequest) { q.Label = "then" })
	w.clock.Add(time.Minute)
	w.put("mem/a", 5)
	w.put("mem/new", 6)
	now := w.root()
	repair := RestoreRequest{Which: which(then.ID), Mode: snapshot.Repair}
	for round := range 3 {
		w.clock.Add(time.Minute)
		out, err := w.Restore(t.Context(), repair)
		if err != nil || out.Stored+out.Replaced+out.Quarantined != 0 || out.Present != 1 && round > 0 && out.Present == 0 || out.PreSnapshot == "" {
			t.Fatalf("repair %d: %+v, %v", round, out, err)
		}
		if got := w.root(); got != now {
			t.Errorf("a repair changed the heads")
		}
	}
	rollback := RestoreRequest{Which: which(then.ID), Mode: snapshot.Rollback, NoPre: true}
	if _, err := w.Restore(t.Context(), rollback); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("not allowed: %v", err)
	}
	settings := w.Settings()
	settings.RestoreAllow = true
	w.Configure(settings)
	plan, err := w.Plan(t.Context(), rollback)
	if err != nil || len(plan.Actions) != 2 || !plan.DryRun {
		t.Errorf("plan %+v, %v", plan, err)
	}
	var taken Restored
	for round := range 3 {
		w.clock.Add(time.Minute)
		out, err := w.Restore(t.Context(), rollback)
		if err != nil || out.PreSnapshot != "" || (out.Quarantine != "") != (round == 0) {
			t.Fatalf("rollback %d: %+v, %v", round, out, err)
		}
		if round == 0 {
			taken = out
		}
		if got := w.root(); got != then.HeadsRoot {
			t.Errorf("rollback %d: the heads are not those of the bundle", round)
		}
	}
	kept, err := w.Quarantines(t.Context(), agent.Pub)
	if err != nil || len(kept) != 1 || kept[0].Name != taken.Quarantine || kept[0].Heads != 2 {
		t.Fatalf("%+v, %v", kept, err)
	}
	if others, err := w.Quarantines(t.Context(), owner.Pub); err != nil || len(others) != 0 {
		t.Errorf("of somebody else: %+v, %v", others, err)
	}
	if _, err := w.ReleaseQuarantine(t.Context(), taken.Quarantine); err != nil {
		t.Fatal(err)
	}
	if got := w.root(); got != now {
		t.Errorf("after the release the heads are not those before the rollback")
	}
	if err := w.DropQuarantine(t.Context(), taken.Quarantine); !errors.Is(err, store.ErrNoQuarantine) {
		t.Errorf("drop what was released: %v", err)
	}
}

// TestPreSnapshotHoldsTheStateBefore: what a rollback replaced is in the bundle
// made before.
func TestPreSnapshotHoldsTheStateBefore(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Settings.RestoreAllow = true })
	w.put("mem/a", 0)
	then := w.create()
	w.clock.Add(time.Minute)
	w.put("mem/a", 5)
	now := w.root()
	w.clock.Add(time.Minute)
	out, err := w.Restore(t.Context(), RestoreRequest{Which: which(then.ID), Mode: snapshot.Rollback})
	if err != nil {
		t.Fatal(err)
	}
	pre, err := w.bundles.Find(bundle.DefaultTenant, agent.Pub, out.PreSnapshot)
	if err != nil || pre.HeadsRoot != now || pre.Label != "auto:pre-restore-"+then.ID || pre.CreatedBy != bundle.ByAutoPreRestore {
		t.Errorf("%+v, %v", pre, err)
	}
}

// TestRestoreSkips what the relay takes from nobody, and counts it.
func TestRestoreSkips(t *testing.T) {
	bad := ""
	w := newWorld(t, func(o *Options) {
		o.Rules = func(_ context.Context, ev *nostr.Event) (bool, string) { return ev.ID == bad, "blocked: no" }
	})
	bad = w.put("mem/a", 0).ID
	w.put("mem/b", 1)
	made := w.create()
	fresh := newWorld(t, func(o *Options) { o.Rules = w.rules })
	q := RestoreRequest{Which: Which{Tenant: bundle.DefaultTenant, Agent: agent.Pub, Path: made.Path}, Mode: snapshot.Repair, NoPre: true}
	out, err := fresh.Restore(t.Context(), q)
	if err != nil || out.Stored != 1 || out.Skipped["blocked: no"] != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestRefused are requests that are turned down, each with its error, and
// nothing is done.
func TestRefused(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Settings.RestoreAllow = true })
	w.put("mem/a", 0)
	made := w.create()
	future := w.clock.Now().Add(time.Second)
	restore := func(q RestoreRequest) error { _, err := w.Restore(t.Context(), q); return err }
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"an instant to come", func() error {
			_, err := w.Create(t.Context(), CreateRequest{Tenant: bundle.DefaultTenant, Agent: agent.Pub, By: bundle.ByCLI, At: future})
			return err
		}(), ErrFuture.Error()},
		{"no name", restore(RestoreRequest{Which: Which{Tenant: bundle.DefaultTenant, Agent: agent.Pub}, Mode: snapshot.Repair}), ErrNotHere.Error()},
		{"no such mode", restore(RestoreRequest{Which: which(made.ID), Mode: snapshot.Revert}), "repairs or rolls back"},
		{"of another agent", restore(RestoreRequest{Which: Which{Tenant: bundle.DefaultTenant, Agent: owner.Pub, Path: made.Path}, Mode: snapshot.Repair}), agent.Pub},
		{"of another tenant", restore(RestoreRequest{Which: Which{Tenant: "other", Agent: agent.Pub, Path: made.Path}, Mode: snapshot.Repair}), "other"},
		{"the last verified", w.Delete(t.Context(), bundle.DefaultTenant, agent.Pub, made.ID, snapshot.Deletion{}), snapshot.ErrLastVerified.Error()},
		{"a tenant that is no name", func() error { _, err := w.List("../x", ""); return err }(), "tenant"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, c.err, c.want)
		}
	}
	if n := len(w.list()); n != 1 {
		t.Errorf("%d bundles", n)
	}
}

// TestIncremental rests on its parent, which can be neither deleted nor swept.
func TestIncremental(t *testing.T) {
	w := newWorld(t)
	w.put("mem/a", 0)
	first := w.create()
	w.clock.Add(time.Hour)
	w.put("mem/b", 1)
	second := w.create(func(q *CreateRequest) { q.Parent = first.ID })
	if second.Parent != first.ID || second.Events != 1 {
		t.Errorf("%+v", second)
	}
	if err := w.Delete(t.Context(), bundle.DefaultTenant, agent.Pub, first.ID, snapshot.Deletion{}); !errors.Is(err, snapshot.ErrParent) {
		t.Errorf("delete the parent: %v", err)
	}
	swept, err := w.Sweep(t.Context(), snapshot.Policy{Keep: 1})
	if err != nil || len(swept) != 1 || len(swept[0].Deleted) != 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	changes, err := w.Diff(t.Context(), which(first.ID), which(second.ID))
	if err != nil || len(changes) != 1 {
		t.Errorf("%+v, %v", changes, err)
	}
	fresh := newWorld(t)
	alone := filepath.Join(t.TempDir(), filepath.Base(second.Path))
	if err := w.Export(bundle.DefaultTenant, agent.Pub, second.ID, alone); err != nil {
		t.Error(err)
	}
	q := RestoreRequest{Which: Which{Tenant: bundle.DefaultTenant, Agent: agent.Pub, Path: alone}, Mode: snapshot.Repair, NoPre: true}
	if _, err := fresh.Restore(t.Context(), q); !errors.Is(err, bundle.ErrInvalid) {
		t.Errorf("without its parent: %v", err)
	}
	if report, err := fresh.Verify(t.Context(), Which{Path: second.Path}); err != nil || !report.OK() {
		t.Errorf("of nobody in particular, with its parent beside it: %v", err)
	}
	q.Path = second.Path
	if out, err := fresh.Restore(t.Context(), q); err != nil || out.Stored != 2 {
		t.Errorf("with its parent beside it: %+v, %v", out, err)
	}
	if out, err := w.Restore(t.Context(), RestoreRequest{Which: which(second.ID), Mode: snapshot.Repair, NoPre: true}); err != nil || out.Present != 2 {
		t.Errorf("with its parent: %+v, %v", out, err)
	}
}

// TestSameSecond: two bundles of one memory within a second get ids of their
// own.
func TestSameSecond(t *testing.T) {
	w := newWorld(t)
	w.put("mem/a", 0)
	a, b := w.create(), w.create(func(q *CreateRequest) { q.Pin = true })
	if a.ID == b.ID || a.HeadsRoot != b.HeadsRoot || !b.Pinned {
		t.Errorf("%+v\n%+v", a, b)
	}
	if report, err := w.Verify(t.Context(), which(b.ID)); err != nil || !report.OK() {
		t.Errorf("%v", err)
	}
}
