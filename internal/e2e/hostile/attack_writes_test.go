//go:build nightly

package hostile

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// taggedNote returns a note with a number of rows in the tag index, which no
// other key's note shares.
func taggedNote(k relaytest.Key, rows int) *nostr.Event {
	tags := make([]nostr.Tag, rows)
	for i := range tags {
		tags[i] = nostr.Tag{"t", fmt.Sprintf("%.8s-%d", k.Pub, i)}
	}
	return relaytest.Sign(k, 1, rig.Now(), "tagged", tags...)
}

// TestAttack_IndexRows: forty connections that write events of 3,900 tags get
// what their address may have of the tag index, and rate-limited beyond it; no
// event is indexed in part; and another client's writes go on. Without the
// bound that client's median rises from 1 ms to more than 1 s. The median
// before the attack measures the machine's other load; a failed attempt is
// repeated five times at most.
func TestAttack_IndexRows(t *testing.T) {
	const attempts, floor = 6, 100 * time.Millisecond
	for attempt := 1; ; attempt++ {
		alone, beside := writesBesideIndexRows(t)
		if beside <= max(50*alone, floor) {
			return
		}
		if attempt == attempts {
			t.Errorf("%d attempts, and another client's writes take %v, %v before the attack", attempts, beside, alone)
			return
		}
	}
}

// writesBesideIndexRows returns the median of another client's writes before
// and during the attack.
func writesBesideIndexRows(t *testing.T) (alone, beside time.Duration) {
	t.Helper()
	relay := rig.Start(t, behindProxy...)
	const attackers, rows = 40, 3900
	victim := dialFrom(t, relay, "192.0.2.2")
	clock := rig.Now()
	median := func() time.Duration {
		t.Helper()
		var took []time.Duration
		for range 40 {
			clock--
			note := relaytest.Note(rig.GateAgent, clock, "a note")
			at := time.Now()
			if ok, err := victim.Publish(note); err != nil || !ok.True {
				t.Fatalf("another client's write: %+v, %v", ok, err)
			}
			took = append(took, time.Since(at))
		}
		slices.Sort(took)
		return took[20]
	}
	alone = median()
	stop := make(chan struct{})
	var mu sync.Mutex
	var stored []*nostr.Event
	limited := 0
	began := time.Now()
	var attack sync.WaitGroup
	for i := range attackers {
		c := dialFrom(t, relay, "192.0.2.1")
		// Each event has a key of its own, so that a key's budget is not what stops
		// them.
		var events []*nostr.Event
		for j := range 5 {
			events = append(events, taggedNote(relaytest.NewKey(uint64(2000+10*i+j)), rows))
		}
		attack.Go(func() {
			for n := 0; ; n++ {
				ev := events[n%len(events)]
				select {
				case <-stop:
					return
				default:
				}
				ok, err := c.Publish(ev)
				if err != nil {
					return
				}
				mu.Lock()
				if ok.True && !strings.HasPrefix(ok.Message, "duplicate:") {
					stored = append(stored, ev)
				} else if strings.HasPrefix(ok.Message, "rate-limited: one address may write 5000 indexed tags per second, 20000 at once") {
					limited++
				} else if !ok.True {
					t.Errorf("refused: %s", ok.Message)
				}
				mu.Unlock()
			}
		})
	}
	beside = median()
	rig.Await(t, "an attack that is refused", func() bool { // which takes six of them, on a busy machine longer
		mu.Lock()
		defer mu.Unlock()
		return limited > 0
	})
	close(stop)
	attack.Wait()
	t.Logf("another client's writes: median %v, %v before the attack; %d attacks stored, %d refused", beside, alone, len(stored), limited)
	if most := (20_000+int(5000*time.Since(began).Seconds()))/rows + 1; len(stored) > most || limited == 0 {
		t.Errorf("%d events of %d tags were stored, at most %d are within the rate; %d refused", len(stored), rows, most, limited)
	}
	// A stored event is found by its last tag.
	c := rig.Dial(t, relay)
	for _, ev := range stored {
		last := ev.Tags[len(ev.Tags)-1][1]
		rig.WantIDs(t, "by the last of its tags", c.MustQuery(relaytest.Filter{"kinds": []int{1}, "#t": []string{last}}).IDs(), rig.IDs(ev))
	}
	relay.Kill()
	return alone, beside
}

// TestAttack_Rates: an address has the default rates, and addresses do not use
// up one another's. Loopback clients of a relay of one's own are not limited.
func TestAttack_Rates(t *testing.T) {
	relay := rig.Start(t, append(slices.Clone(behindProxy), "ENGRAMD_LIMITS_EVENTS_PER_ADDRESS=0.001/s, burst 20")...)
	publish := func(c *relaytest.Client, k relaytest.Key, n int) (taken int) {
		for i := range n {
			ok, err := c.Publish(relaytest.Note(k, rig.Now()-int64(i), fmt.Sprint("a note ", i)))
			if err != nil {
				t.Fatal(err)
			}
			if ok.True {
				taken++
			} else if !strings.HasPrefix(ok.Message, "rate-limited: one address may write 0.001 events per second, 20 at once") {
				t.Fatalf("refused: %s", ok.Message)
			}
		}
		return taken
	}
	for i, c := range []struct {
		address    string
		sent, want int
	}{{"192.0.2.1", 23, 20}, {"192.0.2.1", 3, 0}, {"192.0.2.2", 23, 20}} {
		if got := publish(dialFrom(t, relay, c.address), relaytest.NewKey(uint64(2100+i)), c.sent); got != c.want {
			t.Errorf("%s: %d of %d events were taken, want %d", c.address, got, c.sent, c.want)
		}
	}
	own := rig.Start(t, "ENGRAMD_LIMITS_EVENTS_PER_ADDRESS=0.001/s, burst 20")
	if got := publish(dialFrom(t, own, "192.0.2.1"), relaytest.NewKey(2200), 30); got != 30 {
		t.Errorf("on loopback %d of 30 events were taken", got)
	}
}

// TestAttack_SharesOfKeys: a client whose address has used up its rate has a
// share of its own once it proves a key that the relay knows; a new key gives
// none.
func TestAttack_SharesOfKeys(t *testing.T) {
	listed, unknown := relaytest.NewKey(2301), relaytest.NewKey(2302)
	relay := rig.Start(t, apart, "ENGRAMD_ADMIN_KEYS="+listed.Pub,
		"ENGRAMD_LIMITS_EVENTS_PER_ADDRESS=0.001/s, burst 2")
	const limited = "rate-limited: one address"
	at := func() *rig.Peer { return dialAt(t, relay, "127.0.6.1") }
	c := at()
	note := func(i int64) *nostr.Event { return relaytest.Note(unknown, rig.Now()-i, fmt.Sprint("a note ", i)) }
	c.Store(note(1), note(2))
	c.Refused(note(3), limited)
	if err := c.Auth(unknown); err != nil {
		t.Fatal(err)
	}
	c.Refused(note(3), limited)
	if err := c.Auth(listed); err != nil {
		t.Fatal(err)
	}
	c.Store(note(3), note(4))
	c.Refused(note(5), limited)
	at().Refused(note(5), limited)
}

// TestAttack_EphemeralEventsAgain: a key that resends another's ephemeral event
// uses up its own rate, and the event's author keeps the author's rate: a
// stranger must not be able to keep an author from writing.
func TestAttack_EphemeralEventsAgain(t *testing.T) {
	relay := rig.Start(t, append(slices.Clone(behindProxy), "ENGRAMD_LIMITS_EVENTS_PER_KEY=0.001/s, burst 5")...)
	author := relaytest.NewKey(2401)
	typing := relaytest.Sign(author, 20001, rig.Now(), "typing")
	stranger := dialFrom(t, relay, "192.0.2.1")
	taken := 0
	for range 9 { // each refusal takes the relay some time
		ok, err := stranger.Publish(typing)
		if err != nil {
			t.Fatal(err)
		}
		if ok.True {
			taken++
		} else if !strings.HasPrefix(ok.Message, "rate-limited: one key may write 0.001 events per second, 5 at once") {
			t.Fatalf("refused: %s", ok.Message)
		}
	}
	if taken != 5 {
		t.Errorf("%d of 9 were taken from who is not the author", taken)
	}
	mine := &rig.Peer{Client: dialFrom(t, relay, "192.0.2.2"), T: t}
	for i := range int64(5) {
		mine.Store(relaytest.Note(author, rig.Now()-i, fmt.Sprint("a note ", i)))
	}
	mine.Refused(relaytest.Note(author, rig.Now()-9, "a sixth one"), "rate-limited: one key")
}
