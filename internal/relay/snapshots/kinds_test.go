package snapshots

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// TestCreateOfNothing is an error unless it is wanted, and keeps nothing.
func TestCreateOfNothing(t *testing.T) {
	w := newWorld(t)
	q := CreateRequest{Tenant: bundle.DefaultTenant, Agent: agent.Pub, By: bundle.ByCLI}
	if _, err := w.Create(t.Context(), q); !errors.Is(err, bundle.ErrEmpty) || len(w.list()) != 0 {
		t.Errorf("%v, %d bundles", err, len(w.list()))
	}
	if err := w.scheduled(t.Context(), agent.Pub, time.Hour, false); !errors.Is(err, errUnchanged) {
		t.Errorf("on schedule: %v", err)
	}
	q.AllowEmpty = true
	if out, err := w.Create(t.Context(), q); err != nil || out.Kind != bundle.KindEmpty {
		t.Errorf("%+v, %v", out, err)
	}
	w.put("mem/a", 0)
	if out := w.create(); out.Kind != bundle.KindWhole {
		t.Errorf("%+v", out)
	}
}

// TestRestoreIntoNothing: the state before is not kept where there is none, or
// where a repair finds the same heads; what is asked over the network is
// answered alike in all cases.
func TestRestoreIntoNothing(t *testing.T) {
	w := newWorld(t)
	w.put("mem/a", 0)
	made := w.create()
	q := RestoreRequest{Which: Which{Tenant: bundle.DefaultTenant, Agent: agent.Pub, Path: made.Path}, Mode: snapshot.Repair}
	if out, err := w.Restore(t.Context(), q); err != nil || out.PreSnapshot != "" || out.Present != 1 {
		t.Errorf("nothing to repair: %+v, %v", out, err)
	}
	fresh := newWorld(t)
	if out, err := fresh.Restore(t.Context(), q); err != nil || out.PreSnapshot != "" || out.Stored != 1 {
		t.Errorf("into an empty relay: %+v, %v", out, err)
	}
	q.Managed = "20261120T235100Z-0123456789abcdef"
	for _, w := range []*world{w, newWorld(t)} {
		w.clock.Add(time.Minute)
		if out, err := w.Restore(t.Context(), q); err != nil || out.PreSnapshot == "" {
			t.Errorf("over the network: %+v, %v", out, err)
		}
	}
}

// TestSigned: what is made here is signed by the relay, and a restore wants a
// signature that is trusted.
func TestSigned(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Settings.RestoreAllow = true })
	w.put("mem/a", 0)
	made := w.create()
	report, err := w.Verify(t.Context(), which(made.ID))
	if err != nil || !report.Trusted || report.SignedBy != self.Pub {
		t.Errorf("%+v, %v", report, err)
	}
	stranger, err := bundle.NewSigner(storetest.NewKey("stranger").Secret)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Add(time.Minute)
	unknown := w.create(func(q *CreateRequest) { q.Sign = stranger })
	unsigned := newWorld(t, func(o *Options) { o.Sign = nil })
	unsigned.put("mem/a", 0)
	nobody := unsigned.create()
	for _, mode := range []snapshot.Mode{snapshot.Repair, snapshot.Rollback} {
		restore := func(path string, change func(*RestoreRequest)) error {
			q := RestoreRequest{Which: Which{Tenant: bundle.DefaultTenant, Agent: agent.Pub, Path: path}, Mode: mode, NoPre: true}
			change(&q)
			refusals := w.Refusals(t.Context(), q)
			_, err := w.Restore(t.Context(), q)
			if (err != nil) != (len(refusals) > 0) {
				t.Errorf("%s: the run says %v, the dry run %v", mode, err, refusals)
			}
			return err
		}
		as := func(*RestoreRequest) {}
		if err := restore(made.Path, as); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		for name, path := range map[string]string{"unknown signer": unknown.Path, "not signed": nobody.Path} {
			if err := restore(path, as); !errors.Is(err, bundle.ErrUntrusted) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %s: %v", mode, name, err)
			}
			if err := restore(path, func(q *RestoreRequest) { q.AllowUnsigned = true }); err != nil {
				t.Errorf("%s, %s, allowed: %v", mode, name, err)
			}
		}
		if err := restore(unknown.Path, func(q *RestoreRequest) { q.Trusted = []string{storetest.NewKey("stranger").Pub} }); err != nil {
			t.Errorf("%s, trusted: %v", mode, err)
		}
	}
	settings := w.Settings()
	settings.Trusted = []string{storetest.NewKey("stranger").Pub}
	w.Configure(settings)
	if report, err := w.Verify(t.Context(), which(unknown.ID)); err != nil || !report.Trusted {
		t.Errorf("by the configuration: %+v, %v", report, err)
	}
}

// TestRollbackToNothing is refused, unless that is meant; the dry run says so,
// and which process would have to be allowed.
func TestRollbackToNothing(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Process = "the running relay (pid 7)" })
	empty := w.create(func(q *CreateRequest) { q.AllowEmpty = true })
	w.put("mem/a", 0)
	q := RestoreRequest{Which: which(empty.ID), Mode: snapshot.Rollback}
	why := w.Refusals(t.Context(), q)
	if len(why) != 2 || !errors.Is(why[0], ErrNotAllowed) || !strings.Contains(why[0].Error(), "pid 7") || !errors.Is(why[1], ErrEmpty) {
		t.Errorf("%v", why)
	}
	settings := w.Settings()
	settings.RestoreAllow = true
	w.Configure(settings)
	if _, err := w.Restore(t.Context(), q); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v", err)
	}
	q.AllowEmpty = true
	if out, err := w.Restore(t.Context(), q); err != nil || out.Quarantined != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestAsOf is the instant captured, whatever time the bundle is given; both
// pinned make the same file.
func TestAsOf(t *testing.T) {
	w := newWorld(t)
	w.put("mem/a", 0)
	at := w.clock.Now()
	w.clock.Add(10 * time.Minute)
	pinned := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	manifest := func(q CreateRequest) *bundle.Manifest {
		made := w.create(func(to *CreateRequest) { to.CreatedAt, to.At = q.CreatedAt, q.At })
		report, err := w.Verify(t.Context(), which(made.ID))
		if err != nil || !report.OK() {
			t.Fatalf("%v, %v", report, err)
		}
		return report.Manifest
	}
	if m := manifest(CreateRequest{CreatedAt: pinned}); !m.CreatedAt.Equal(pinned) || !m.AsOf.Equal(w.clock.Now()) {
		t.Errorf("made %v, as of %v", m.CreatedAt, m.AsOf)
	}
	both := CreateRequest{CreatedAt: pinned, At: at}
	one := manifest(both)
	if !one.AsOf.Equal(at) {
		t.Errorf("as of %v, want %v", one.AsOf, at)
	}
	w.clock.Add(30 * time.Minute)
	again := CreateRequest{Tenant: bundle.DefaultTenant, Agent: agent.Pub, By: bundle.ByCLI, CreatedAt: pinned, At: at}
	if _, err := w.Create(t.Context(), again); !errors.Is(err, fs.ErrExist) { // the id is the hash of what is in it
		t.Errorf("another file at another time: %v", err)
	}
}

// TestTooFarAhead: what is dated long after the instant is left out and
// counted, and the bundle verifies.
func TestTooFarAhead(t *testing.T) {
	w := newWorld(t)
	w.put("mem/a", 15*60)
	w.put("mem/b", 15*60+1)
	made := w.create()
	report, err := w.Verify(t.Context(), which(made.ID))
	if err != nil || !report.OK() || made.Events != 1 || made.LeftOut != 1 {
		t.Errorf("%+v, %v, %v", made, report, err)
	}
}

// TestManagedDeletion: over the network an answer does not depend on whether a
// bundle holds anything.
func TestManagedDeletion(t *testing.T) {
	w := newWorld(t)
	empty := w.create(func(q *CreateRequest) { q.AllowEmpty = true })
	w.put("mem/a", 0)
	w.clock.Add(time.Minute)
	whole := w.create()
	remove := func(id string, how snapshot.Deletion) error {
		return w.Delete(t.Context(), bundle.DefaultTenant, agent.Pub, id, how)
	}
	if err := remove(whole.ID, snapshot.Deletion{}); !errors.Is(err, snapshot.ErrLastVerified) {
		t.Errorf("the last whole one: %v", err)
	}
	if err := remove(whole.ID, snapshot.Deletion{AnyKind: true}); err != nil {
		t.Errorf("over the network: %v", err)
	}
	if err := remove(empty.ID, snapshot.Deletion{AnyKind: true}); !errors.Is(err, snapshot.ErrLastVerified) {
		t.Errorf("the last one, over the network: %v", err)
	}
	if err := remove(empty.ID, snapshot.Deletion{}); err != nil || len(w.list()) != 0 {
		t.Errorf("an empty one: %v", err)
	}
}
