package load

import (
	"context"
	"testing"

	"engramd/internal/relay/http/bridgetest"
)

// engramd answers every workload correctly that does not look at its process.
func TestRealRelay(t *testing.T) {
	_, cache := testCorpus(t, 2000)
	o := Options{Size: 2000, Seed: testSeed, Cache: cache, Auth: AuthRequire}
	run := func(t *testing.T, url, name string, count, connections int) Result {
		t.Helper()
		o := o
		o.Count, o.Connections, o.Warmup = count, connections, 10
		r, err := mustFind(t, name).Run(context.Background(), Target{URL: url}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Run("filled", func(t *testing.T) {
		url := bridgetest.Start(t).URL
		if r := run(t, url, "fill", 0, 3); r.Count != 2000 {
			t.Errorf("filled with %d", r.Count)
		}
		if r := run(t, url, "query", 20, 4); r.Count != 20*100 || r.Extra["events_per_request"] != 100 {
			t.Errorf("query: %+v", r)
		}
		if r := run(t, url, "list", 8, 4); r.Count != 8*500 {
			t.Errorf("list: %+v", r)
		}
		for _, connections := range []int{1, 32} {
			if r := run(t, url, "read-head", 200, connections); r.Count != 200 || r.Latency.Samples != 200 {
				t.Errorf("read-head over %d: %+v", connections, r)
			}
		}
	})
	for _, name := range []string{"publish", "publish-engrams"} {
		t.Run(name, func(t *testing.T) {
			url := bridgetest.Start(t).URL
			if r := run(t, url, name, 500, 8); r.Count != 500 || r.Extra["bytes_per_event"] < 480 {
				t.Errorf("%+v", r)
			}
			o := o
			o.Count, o.Connections, o.Warmup = 500, 8, 10
			if _, err := mustFind(t, name).Run(context.Background(), Target{URL: url}, o); err == nil {
				t.Error("what the relay held already was measured as publishing")
			}
		})
	}
}
