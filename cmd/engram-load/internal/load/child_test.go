package load

import (
	"context"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// engramd gives a figure for every workload that looks at its process or starts
// one.
func TestRealProcess(t *testing.T) {
	bin, err := relaytest.Binary(relaytest.Build{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := relaytest.Clean(); err != nil {
			t.Error(err)
		}
	})
	const size = 2000
	c, cache := testCorpus(t, size)
	run := func(t *testing.T, target Target, name string, o Options) Result {
		t.Helper()
		o.Seed, o.Cache, o.Size = testSeed, cache, size
		r, err := mustFind(t, name).Run(context.Background(), target, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v", name, r.Extra)
		return r
	}
	serve := func(t *testing.T) Target {
		child := relaytest.Start(t, relaytest.Options{})
		return Target{URL: child.URL, PID: child.PID()}
	}
	t.Run("idle", func(t *testing.T) {
		if r := run(t, serve(t), "idle", Options{Count: 500, Warmup: 20}); r.Extra["kib_per_connection"] <= 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("live", func(t *testing.T) {
		target := serve(t)
		if r := run(t, target, "live", Options{Count: 30, Connections: 20, Warmup: 5, Rate: 500}); r.Count != 300 || r.CPUPerOp <= 0 {
			t.Errorf("%+v", r)
		}
		r := run(t, target, "live-wide", Options{Count: 400, Connections: 4, Warmup: 40, Subscriptions: 300})
		if r.Extra["deliveries"] != 200 || r.Extra["wide_to_none"] <= 0 {
			t.Errorf("%+v", r)
		}
		// A second run on the same relay has another author.
		run(t, target, "live", Options{Count: 10, Connections: 4, Rate: 500})
	})
	t.Run("find", func(t *testing.T) {
		target := serve(t)
		run(t, target, "fill", Options{Connections: 2})
		if r := run(t, target, "count", Options{Count: 10}); r.Extra["matches"] != float64(c.Rare()) {
			t.Errorf("%+v", r)
		}
		if r := run(t, target, "search", Options{Count: 20}); r.Extra["half_asked"] != 2 || r.Extra["half_given_up"] != 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("import", func(t *testing.T) {
		o := Options{Count: 1000, Exec: bin + " import --data {data} {file}"}
		if r := run(t, Target{}, "import", o); r.Count != 1000 {
			t.Errorf("%+v", r)
		}
		o.Check = bin + " export --data {data}"
		run(t, Target{}, "import", o)
		if r := run(t, Target{}, "disk", o); r.Extra["notes_ratio"] <= 1 || r.Extra["engrams_ratio"] <= 1 {
			t.Errorf("%+v", r)
		}
	})
}
