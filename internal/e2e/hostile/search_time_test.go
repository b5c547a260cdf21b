//go:build nightly

package hostile

import (
	"fmt"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
)

// TestSearch_TimeTellsNothing: a search in contracts takes as long for a word
// that others' entries are full of as for one that is nowhere. Otherwise its
// time would tell a stranger how often they use a word.
// internal/relay/store/sqlite/events counts the steps of each search; this is what a
// client can measure: the shortest of many.
func TestSearch_TimeTellsNothing(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain})
	poster, worker, from := relaytest.NewKey(861), relaytest.NewKey(862), rig.Now()-10_000
	const contracts = 1000
	var events []byte
	for i := range int64(contracts) {
		id := fmt.Sprintf("25becee1-0000-4000-8000-%012d", i)
		events = append(wire.AppendEvent(events, relaytest.State(poster, worker.Pub, id, "open", "", from+i)), '\n')
		events = append(wire.AppendEvent(events, relaytest.Entry(poster, worker.Pub, id, "message", "zanzibar", from+i)), '\n')
	}
	if put := relay.Run(events, "import", "--data", relay.Data); put.Code != 0 {
		t.Fatal(put.Stderr)
	}
	asking := func(word string) []any {
		filters := make([]any, 16)
		for i := range filters {
			filters[i] = relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{fmt.Sprint("nope", i)}, "search": word}
		}
		return filters
	}
	party := relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "authors": []string{poster.Pub}, "search": "zanzibar", "limit": 2 * contracts}
	if n := len(rig.Dial(t, relay, poster).MustQuery(party).Events); n != contracts {
		t.Fatalf("their author finds %d of %d entries", n, contracts)
	}
	stranger := rig.Dial(t, relay)
	took := func(word string, least time.Duration) time.Duration {
		began := time.Now()
		if n := len(stranger.MustQuery(asking(word)...).Events); n != 0 {
			t.Fatalf("a stranger finds %d entries", n)
		}
		return min(least, time.Since(began))
	}
	// They take turns, so that the machine's other load is the same for both,
	// until the shortest times are alike: a real difference in the work would
	// remain however often it is measured.
	theirs, nobodys, alike := time.Hour, time.Hour, false
	for range 10 {
		for range 100 {
			theirs, nobodys = took("zanzibar", theirs), took("nowhere", nobodys)
		}
		t.Logf("at least %v for a word of %d entries, %v for one of none", theirs, contracts, nobodys)
		if alike = theirs <= 3*nobodys/2 && nobodys <= 3*theirs/2; alike {
			break
		}
	}
	if !alike {
		t.Errorf("a search takes %v for a word of others' entries, %v for one of none", theirs, nobodys)
	}
}
