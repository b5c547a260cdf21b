//go:build nightly

package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTimeOfNotThere compares, for a party, the median time of a request for
// the other party's private entry with that for an entry that does not exist.
// The bound is generous: it finds another path through the database, not a
// branch. Because other programs share the machine, the best of three attempts
// counts.
func TestTimeOfNotThere(t *testing.T) {
	const attempts, bound = 3, 1.5
	w := newWorld(t)
	poster, worker := w.provision("poster"), w.provision("worker")
	id := w.offer(poster, worker, nil)
	var there []string
	for range 20 {
		there = append(there, w.say(poster, worker, id, "note", "poster_only", strings.Repeat("x", 20_000)).EntryID)
	}
	for attempt := 1; ; attempt++ {
		took := map[bool][]time.Duration{}
		for n := range 600 {
			private := n%2 == 0
			entry := entryID()
			if private {
				entry = there[n%len(there)]
			}
			start := time.Now()
			w.want(404, worker, "GET", "/api/escrow/contracts/"+id+"/memory/"+entry, nil)
			took[private] = append(took[private], time.Since(start))
		}
		median := func(private bool) time.Duration {
			slices.Sort(took[private])
			return took[private][len(took[private])/2]
		}
		ratio := float64(median(true)) / float64(median(false))
		if ratio <= bound && ratio >= 1/bound {
			return
		}
		t.Logf("asking for a private entry takes %.2f times as long as for none: %v and %v", ratio, median(true), median(false))
		if attempt == attempts {
			t.Fatalf("that is so in each of %d attempts", attempts)
		}
	}
}
