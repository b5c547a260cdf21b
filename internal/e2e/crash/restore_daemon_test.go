package crash

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/snapshot/bundle"
)

// TestDaemonKilledInARestore kills the daemon at random points of a rollback
// that a command handed to it. Either the state before or the state after is
// there, nothing is left in staging, and a new daemon completes it.
func TestDaemonKilledInARestore(t *testing.T) {
	const memories, base = 1000, 1_700_000_000
	then, newer := versions(0, memories, base+10), versions(memories/4, memories+40, base+20)
	src := newFolder(t)
	src.put(then)
	src.run("snapshot", "--agent", relaytest.Agent().Pub)
	bundles, err := filepath.Glob(filepath.Join(src.dir, "tenants", "default", "snapshots", "*", "*"+bundle.Extension))
	if err != nil || len(bundles) != 1 {
		t.Fatalf("%v, %v", bundles, err)
	}
	template := newFolder(t)
	template.put(then)
	template.put(newer)
	was, _ := template.heads()
	want := map[string]bool(stateOf(then))
	handed := func(relay *relaytest.Child) relaytest.Result {
		return relay.Run(nil, "snapshot", "restore", "--agent", relaytest.Agent().Pub, "--from", bundles[0], "--allow-unsigned", "--rollback", "--data", relay.Data)
	}
	serve := func(f folder) *relaytest.Child {
		return relaytest.Start(t, relaytest.Options{Build: rig.Plain, Data: f.dir, Env: []string{rig.AllowRestore}})
	}
	whole := template.copied()
	relay := serve(whole)
	began := time.Now()
	if r := handed(relay); r.Code != 0 {
		t.Fatalf("%s%s", r.Stdout, r.Stderr)
	}
	full := time.Since(began)
	relay.Stop()
	if got, _ := whole.heads(); !maps.Equal(got, want) || maps.Equal(was, want) {
		t.Fatalf("a whole one makes %d heads of %d", len(got), len(was))
	}
	rounds := max(crashRounds(t)/3, 1)
	rng := rand.New(rand.NewPCG(rig.Seed(t), 3))
	cut, switched := 0, 0
	for round := 0; round < rounds || cut == 0 && round < 20*rounds; round++ { // a busy machine may miss what a kill is for
		f := template.copied()
		relay := serve(f)
		delay := time.Duration(rng.Int64N(int64(full)))
		if round%2 > 0 { // towards the end, where it switches
			delay = full*3/4 + delay/3
		}
		kill := time.AfterFunc(delay, func() { relay.Signal(syscall.SIGKILL) })
		started := time.Now()
		r := handed(relay)
		kill.Stop()
		if r.Code == 0 { // the machine may have been busier when full was measured
			full = min(full, time.Since(started))
		}
		relay.Kill()
		got, staged := f.heads()
		switch {
		case maps.Equal(got, want):
			switched++
		case !maps.Equal(got, was) || r.Code == 0:
			t.Fatalf("round %d: %d heads, neither the %d before nor the %d after; the command ended with %d", round, len(got), len(was), len(want), r.Code)
		}
		if r.Code != 0 {
			cut++
		}
		if staged != 0 {
			t.Errorf("round %d: %d rows stay in staging", round, staged)
		}
		relay = serve(f)
		if r := handed(relay); r.Code != 0 {
			t.Fatalf("round %d: running it again: %s%s", round, r.Stdout, r.Stderr)
		}
		relay.Stop()
		if got, _ := f.heads(); !maps.Equal(got, want) {
			t.Fatalf("round %d: running it again makes %d heads, want %d", round, len(got), len(want))
		}
		if out := f.run("check"); !strings.Contains(out, "ok") {
			t.Errorf("round %d: %s", round, out)
		}
	}
	t.Logf("%d of %d were cut short, %d had switched; a whole one took %v", cut, rounds, switched, full)
	if cut == 0 {
		t.Error("none was cut short: the test shows nothing")
	}
}
