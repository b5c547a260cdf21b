//go:build nightly

package hostile

import (
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// hostile is a kind of client that harms others if it can. run continues until
// stop is closed and returns what the relay did wrong, nil if nothing; it calls
// begun once the attack has started.
type hostile struct {
	name string
	run  func(url string, begun func(), stop <-chan struct{}) error
}

func hostiles() []hostile {
	return []hostile{
		{"never reads", neverReads},
		{"sends byte by byte", byteByByte},
		{"opens the maximum of subscriptions", maximumOfSubscriptions},
		{"floods", floods},
		{"half handshakes", halfHandshakes},
		{"oversized messages", oversized},
		{"inflating messages", inflating},
		{"endless fragments", endlessFragments},
	}
}

// hostileConfig makes the bounds of memory small enough for a test, without a limit
// of the process: 128 MiB may wait for all clients.
var hostileConfig = []string{rig.Exclude, "ENGRAMD_LIMITS_MEMORY=256MiB", "GOMEMLIMIT=off"}

// peakMemory is the most that the daemon may hold under all attacks: less than
// what may wait for clients, doubled because of the garbage collector.
const peakMemory = 256 << 20

// TestHostile_ClientsDoNotHarmOthers runs each hostile client beside a
// well-behaved one, whose latency must stay within 3 × of its latency alone.
// Both are measured in turn on the same relay; because other programs share the
// machine, a failed attempt is repeated five times at most.
func TestHostile_ClientsDoNotHarmOthers(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: hostileConfig})
	memory := relay.WatchMemory()
	w := newWellBehaved(t, relay)
	w.measure(time.Second) // caches, the WAL and the heap reach their size
	calm, err := relay.Metric("go_goroutines")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range hostiles() {
		names = append(names, h.name)
	}
	for _, name := range append(names, together) {
		t.Run(name, func(t *testing.T) {
			besideHostile(t, relay, w, name)
			left, err := relay.AwaitMetric("go_goroutines", relaytest.Patience, func(n float64) bool { return n <= calm+8 })
			if err != nil {
				t.Errorf("goroutines of clients that are gone: %v (%v before)", err, calm)
			}
			t.Logf("goroutines: %v before, %v after", calm, left)
		})
	}
	peak, err := memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peak memory %d MiB", peak>>20)
	if peak > peakMemory {
		t.Errorf("the daemon has used %d MiB, want at most %d", peak>>20, peakMemory>>20)
	}
	if cut, err := relay.Metric("engramd_slow_readers_cut_total"); err != nil || cut == 0 {
		t.Errorf("engramd_slow_readers_cut_total %v, %v", cut, err)
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("exit code %d after all that", code)
	}
}

// siegeTime is how long a client is measured beside hostile ones: long enough
// for their start and its consequences or, with ENGRAMD_SOAK=1, also for what
// accumulates.
func siegeTime() time.Duration {
	if rig.Soak() {
		return 4 * time.Second
	}
	return time.Second
}

// besideHostile compares the latency alone with the latency beside hostile
// clients.
func besideHostile(t *testing.T, relay *relaytest.Child, w *wellBehaved, name string) {
	t.Helper()
	const attempts = 6
	long := siegeTime()
	for attempt := 1; ; attempt++ {
		alone := w.measure(long / 4)
		end := unleash(t, relay, name)
		beside := w.measure(long)
		end()
		t.Logf("alone:  %v", alone)
		t.Logf("beside: %v", beside)
		if beside.within(alone) {
			return
		}
		if attempt == attempts {
			t.Errorf("%d attempts, and the well-behaved client is always slowed down by more than 3 ×", attempts)
			return
		}
	}
}
