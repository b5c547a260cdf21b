//go:build nightly

package hostile

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// apart makes loopback addresses count like any others, so that attackers and
// victims have addresses of their own.
const apart = "ENGRAMD_LIMITS_LOOPBACK_EXEMPT=false"

// dialAt connects a peer from a loopback address of its own.
func dialAt(t *testing.T, c *relaytest.Child, addr string) *rig.Peer {
	t.Helper()
	cl, err := relaytest.DialFrom(c.URL, net.ParseIP(addr))
	if err != nil {
		t.Fatalf("dial from %s: %v", addr, err)
	}
	t.Cleanup(cl.Close)
	return &rig.Peer{Client: cl, T: t}
}

// quotedValues returns n quoted values of a filter.
func quotedValues(n int, value func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = `"` + value(i) + `"`
	}
	return strings.Join(list, ",")
}

// TestAttack_FiltersHoldLittle: connections of one address fill the relay with
// filters as large as a message. A value of more than a kilobyte is refused,
// all filters together stay within the share of the address, and another
// address gets its subscriptions.
func TestAttack_FiltersHoldLittle(t *testing.T) {
	const conns, each = 40, 12
	const most = 256 << 20 // 32 MiB of filters and 8 of messages, and as much again twice as garbage
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: []string{apart, rig.Exclude}})
	memory := relay.WatchMemory()
	attackers := make([]*rig.Peer, conns)
	for i := range attackers {
		attackers[i] = dialAt(t, relay, "127.0.6.1")
	}
	long := strings.Repeat("x", 250_000)
	many := quotedValues(240, func(i int) string { return strings.Repeat("y", 1000) + fmt.Sprint(i) })
	refused := make([]int, conns)
	var all sync.WaitGroup
	for i, a := range attackers {
		all.Go(func() {
			for k := range each {
				for sub, filter := range map[string]string{"l": `{"#t":["` + long + `"],"limit":0}`, "m": `{"#t":[` + many + `],"limit":0}`} {
					if err := a.SendRaw(fmt.Appendf(nil, `["REQ","%s%d",%s]`, sub, k, filter)); err != nil {
						t.Errorf("attacker %d: %v", i, err)
						return
					}
					f, err := a.Wait(relaytest.ForSub(fmt.Sprint(sub, k)))
					switch {
					case err != nil:
						t.Errorf("attacker %d: %v", i, err)
						return
					case sub == "l" && (f.Label != "CLOSED" || !strings.HasPrefix(f.Text(1), `invalid: filter key "#t": holds a value of 250000 bytes`)):
						t.Errorf("a value of 250,000 bytes: %s %s", f.Label, f.Text(1))
						return
					case sub == "m" && f.Label == "CLOSED":
						refused[i]++
						if !strings.HasPrefix(f.Text(1), "error: ") {
							t.Errorf("refused with %q", f.Text(1))
						}
					}
				}
			}
		})
	}
	all.Wait()
	total := 0
	for _, n := range refused {
		total += n
	}
	if total < conns*each/2 {
		t.Errorf("%d of %d large subscriptions were refused", total, conns*each)
	}
	victim := dialAt(t, relay, "127.0.6.9")
	for i := range 64 {
		authors := quotedValues(10, func(j int) string { return fmt.Sprintf("%064x", 100*i+j) })
		victim.Raw(fmt.Sprintf(`["REQ","v%d",{"kinds":[1],"authors":[%s]}]`, i, authors))
		if f := victim.MustNext(); f.Label != "EOSE" {
			t.Fatalf("subscription %d of another address: %s %s", i, f.Label, f.Text(1))
		}
	}
	peak, err := memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB at most", peak>>20)
	if peak > most {
		t.Errorf("the relay held %d MiB, more than %d", peak>>20, most>>20)
	}
}

// TestAttack_LiveFiltersDelayNobody: filters that are found by a tag which the
// attacker sends and fail on a second list, and events of thousands of tags to
// try them on. Neither a writer nor a reader of live events is delayed
// noticeably. A failed attempt is repeated five times at most.
func TestAttack_LiveFiltersDelayNobody(t *testing.T) {
	const attempts = 6
	for attempt := 1; ; attempt++ {
		wrong := delayedByLiveFilters(t)
		if len(wrong) == 0 {
			return
		}
		if attempt == attempts {
			t.Errorf("%d attempts, and in the last %v", attempts, wrong)
			return
		}
		t.Log(wrong)
	}
}

// delayedByLiveFilters says what took too long, and whether the attack did.
func delayedByLiveFilters(t *testing.T) (wrong []string) {
	t.Helper()
	const conns, subs, tags, events = 30, 64, 3900, 10
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: []string{apart, rig.Exclude}})
	reader, writer := dialAt(t, relay, "127.0.7.8"), dialAt(t, relay, "127.0.7.9")
	me := relaytest.NewKey(5001)
	reader.Raw(`["REQ","live",{"kinds":[1],"authors":["` + me.Pub + `"],"limit":0}]`)
	reader.Expect("EOSE")
	clock := rig.Now() - 3_000_000
	probe := func(long time.Duration) (written, lived []time.Duration) {
		t.Helper()
		for until := time.Now().Add(long); time.Now().Before(until); {
			clock++
			ev := relaytest.Note(me, clock, "probe")
			start := time.Now()
			if ok := writer.MustPublish(ev); !ok.True {
				t.Fatalf("the victim is refused: %q", ok.Message)
			}
			written = append(written, time.Since(start))
			got, err := reader.Live("live")
			if err != nil || got.ID != ev.ID {
				t.Fatalf("live: %v, %v", got, err)
			}
			lived = append(lived, time.Since(start))
		}
		slices.Sort(written)
		slices.Sort(lived)
		return written, lived
	}
	idleWritten, idleLived := probe(siegeTime() / 2)

	filter := `{"kinds":[1],"#a":["z"],"#b":[` + quotedValues(5, func(i int) string { return strings.Repeat("b", 40) + fmt.Sprint(i) }) + `],"limit":0}`
	filters := strings.Repeat(filter+",", 15) + filter
	attackers := make([]*rig.Peer, conns)
	for i := range attackers {
		attackers[i] = dialAt(t, relay, fmt.Sprintf("127.0.7.%d", 1+i%2))
		for k := range subs {
			attackers[i].Raw(fmt.Sprintf(`["REQ","%d",%s]`, k, filters))
		}
		if err := attackers[i].Barrier(); err != nil {
			t.Fatal(err)
		}
	}
	began := clock
	attack := func(n, tags int) error {
		list := nostr.Tags{{"a", "z"}}
		for j := range tags {
			list = append(list, nostr.Tag{"b", fmt.Sprintf("%040d %d", j, n)})
		}
		ok, err := attackers[n%conns].Publish(relaytest.Note(relaytest.NewKey(uint64(5100+n%conns)), began-int64(n), "attack", list...))
		if err == nil && !ok.True {
			err = fmt.Errorf("the attack does not take place: %q", ok.Message)
		}
		return err
	}
	for i := range events {
		if err := attack(i, tags); err != nil {
			t.Fatal(err)
		}
	}
	// And smaller ones all the while, within what an address may have indexed.
	stop, over, slow := make(chan struct{}), make(chan error, 1), ""
	go func() {
		tick := time.NewTicker(25 * time.Millisecond)
		defer tick.Stop()
		for n := events; ; n++ {
			select {
			case <-tick.C:
				if err := attack(n, 100); err != nil {
					over <- err
					return
				}
			case <-stop:
				if n < 5*events {
					slow = fmt.Sprintf("only %d events were sent", n)
				}
				close(over)
				return
			}
		}
	}()
	written, lived := probe(2 * siegeTime())
	close(stop)
	if err := <-over; err != nil {
		t.Error(err)
	}
	if slow != "" {
		wrong = append(wrong, slow)
	}
	for _, m := range []struct {
		what       string
		idle, seen []time.Duration
	}{{"a write", idleWritten, written}, {"a live event", idleLived, lived}} {
		most := max(10*p99(m.idle), time.Second) // tests share the machine; the siege has a stricter bound
		t.Logf("%s: p99 %v alone, %v of %d beside the attack", m.what, p99(m.idle), p99(m.seen), len(m.seen))
		if p99(m.seen) > most {
			wrong = append(wrong, fmt.Sprintf("%s: p99 %v, more than %v", m.what, p99(m.seen), most))
		}
	}
	relay.Kill()
	return wrong
}

func p99(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }

// TestAttack_ShortOfMemory: the bounds of what clients may hold exceed the
// limit of memory. Near the limit requests are closed with a reason; the
// process stays below it, and serves again when the clients are gone.
func TestAttack_ShortOfMemory(t *testing.T) {
	const limit = 160 << 20
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: []string{
		apart, rig.Exclude, fmt.Sprintf("GOMEMLIMIT=%d", limit), "ENGRAMD_LIMITS_MEMORY=8GiB",
	}})
	memory := relay.WatchMemory()
	closed := ""
	var attackers []*rig.Peer
	for i := 0; i < 40 && closed == ""; i++ {
		a := dialAt(t, relay, "127.0.8.1")
		attackers = append(attackers, a)
		for k := 0; k < 64 && closed == ""; k++ {
			values := quotedValues(230, func(j int) string { return strings.Repeat("z", 1000) + fmt.Sprintf("%d-%d-%d", i, k, j) })
			a.Raw(fmt.Sprintf(`["REQ","%d",{"#t":[%s],"limit":0}]`, k, values))
			if f := a.MustNext(); f.Label == "CLOSED" {
				closed = f.Text(1)
			}
		}
	}
	if closed != "error: the relay is short of memory, try again later" {
		t.Errorf("the last answer is %q", closed)
	}
	if peak, err := memory(); err != nil || peak > limit+limit/10 {
		t.Errorf("the relay held %d MiB under a limit of %d: %v", peak>>20, limit>>20, err)
	}
	other := dialAt(t, relay, "127.0.8.9")
	a, err := other.Query(relaytest.Filter{"kinds": []int{1}})
	if err != nil || a.Closed != closed {
		t.Errorf("meanwhile another is answered %+v, %v", a, err)
	}
	for _, a := range attackers {
		a.Close()
	}
	if _, err := relay.AwaitMetric("engramd_memory_needed_bytes", time.Minute, func(v float64) bool { return v < limit/2 }); err != nil {
		t.Fatal(err)
	}
	if a, err := other.Query(relaytest.Filter{"kinds": []int{1}}); err != nil || a.Closed != "" {
		t.Errorf("then it is answered %+v, %v", a, err)
	}
}
